//! Every night, converts channels of earlier versions to the form that this version writes.

use tracing::info;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::id::TeamId;
use vedette_runtime::App;
use vedette_store::{Audit, StoreError, UrlClaim, unless_conflict};

/// Stores the secrets of a team's channels in separate items, and claims the URLs that they lead to. Where several
/// channels lead to one URL, as earlier versions allowed, the oldest claims it, and the others stay. A claim of a
/// channel that is gone is deleted.
pub(crate) async fn convert(app: &App, team: TeamId) -> Result<(), StoreError> {
    let (mut channels, claims) = app.store.channels_and_claims(team).await?;
    channels.sort_by_key(|channel| (channel.created_at, channel.id));
    let (mut claims, stray): (Vec<_>, Vec<_>) = claims
        .into_iter()
        .partition(|claim| channels.iter().any(|channel| channel.id == claim.channel));
    for claim in stray {
        // Its channel may have been created while the others were read.
        if !unless_conflict(app.store.delete_claim(team, &claim).await)? {
            claims.push(claim);
        }
    }
    let mut moved = 0;
    for channel in &mut channels {
        if channel.secret.is_some() {
            let next = Channel { rev: channel.rev + 1, ..channel.clone() };
            // A concurrent write has moved it as well.
            if unless_conflict(app.store.put_channel(&next, Audit::None).await)? {
                (*channel, moved) = (next, moved + 1);
            }
        }
        let Some(url) = channel.target.masked() else { continue };
        if claims.iter().any(|claim| claim.digest == url.digest) {
            continue;
        }
        // Somebody who has changed the channel leaves the claim to the next night.
        if unless_conflict(app.store.claim_url(channel).await)? {
            claims.push(UrlClaim { channel: channel.id, digest: url.digest.clone() });
        }
    }
    if moved > 0 {
        info!(%team, moved, "moved the secrets of channels to separate items");
    }
    Ok(())
}
