//! Which token a user gets.

use jiff::{SignedDuration, Timestamp};

use super::account::{NewToken, Scope, TOKENS_MAX, Token, TokenHash};
use super::refusal::AccountRefusal;
use crate::id::UserId;

impl NewToken {
    /// The token of a user who has `held` tokens. A program creates it with its own token `creator`: it is for at most
    /// the same scopes, and works no longer.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn into_token(
        self,
        hash: TokenHash,
        user: UserId,
        (held, creator): (usize, Option<&Token>),
        now: Timestamp,
    ) -> Result<Token, AccountRefusal> {
        if held >= TOKENS_MAX {
            return Err(AccountRefusal::TooManyTokens);
        }
        let of_creator = creator.map(|token| &token.scopes[..]);
        let scopes: Vec<Scope> = match self.scopes {
            Some(scopes) => scopes.into_iter().collect(),
            None => of_creator.unwrap_or(&Scope::DEFAULT).to_vec(),
        };
        let allowed = of_creator.unwrap_or(&Scope::ALL);
        if let Some(missing) = scopes.iter().find(|scope| !allowed.contains(scope)) {
            return Err(AccountRefusal::ScopeMissing(*missing));
        }
        let lifetime = SignedDuration::from_hours(24 * i64::from(self.days));
        let expires_at = now.saturating_add(lifetime).unwrap_or(now);
        let latest = creator.map_or(expires_at, |token| token.expires_at);
        let expires_at = expires_at.min(latest);
        Ok(Token { hash, user, name: self.name, scopes, expires_at, created_at: now })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn token(
        days: u32,
        scopes: Option<&[Scope]>,
        creator: Option<&Token>,
    ) -> Result<Token, AccountRefusal> {
        let scopes = scopes.map(|scopes| scopes.iter().copied().collect());
        let new = NewToken { name: "ci".to_owned(), days, scopes };
        let user = UserId(Uuid::from_u128(1));
        new.into_token(TokenHash("1".to_owned()), user, (0, creator), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_token_that_a_token_creates_may_do_no_more_and_works_no_longer() {
        let own = [Scope::SitesRead, Scope::TokensWrite];
        let creator = token(10, Some(&own), None).expect("a token");
        assert_eq!(token(30, None, Some(&creator)), Ok(creator.clone()));
        let shorter = token(5, Some(&[Scope::SitesRead]), Some(&creator)).expect("a token");
        assert_eq!(shorter.scopes, [Scope::SitesRead]);
        assert!(shorter.expires_at < creator.expires_at);
        let refused = token(5, Some(&[Scope::SitesWrite]), Some(&creator));
        assert_eq!(refused, Err(AccountRefusal::ScopeMissing(Scope::SitesWrite)));
    }

    #[test]
    fn a_user_has_at_most_a_hundred_tokens_with_the_default_scopes() {
        assert_eq!(token(1, None, None).expect("a token").scopes, Scope::DEFAULT);
        let new = NewToken { name: "ci".to_owned(), days: 1, scopes: None };
        let (hash, user) = (TokenHash("1".to_owned()), UserId(Uuid::from_u128(1)));
        let refused = new.into_token(hash, user, (TOKENS_MAX, None), Timestamp::UNIX_EPOCH);
        assert_eq!(refused, Err(AccountRefusal::TooManyTokens));
    }
}
