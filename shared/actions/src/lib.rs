//! Everything that people do to sites, issues, settings, channels and accounts. The API, the dashboard and the command
//! line share it. Each action loads, decides, saves and sends.

pub mod access;
mod channel_sync;
mod channels;
mod checks;
mod configuration;
mod copying;
mod error;
mod expectations;
mod heartbeats;
mod invitations;
mod issues;
mod mail;
mod maintenance;
mod members;
mod monitoring;
mod names;
mod plan;
mod sign_in;
mod site_groups;
mod sites;
mod status_pages;
mod subscriptions;
mod time_zone;
mod tokens;

pub use channels::{
    WaitingDelivery, add_channel, confirm_channel, disable_channel, edit_channel, enable_channel,
    look_again, queue_test, remove_channel, resend_to_channel, save_channel, send_again,
    send_sooner, try_channel, waiting_for, wake,
};
pub use checks::order_checks;
pub use configuration::{Applied, CHANGES_MAX, ChangeError, TeamObjects, make_changes};
pub use copying::{CopyDone, CopyError, CopyOrder, CopyProgress, copy_teams};
pub use error::{
    AccessError, AccountError, ActionError, ChannelError, DecisionError, Fault, HeartbeatError,
    IncidentError, OrderError, PageError, SignInError, SiteError, SubscriptionError, WindowError,
};
pub use expectations::change_expectations;
pub use heartbeats::{
    create_heartbeat, create_heartbeat_by_ping, delete_heartbeat, edit_heartbeat, replace_ping_key,
};
pub use invitations::{
    OpenInvitation, decline_invitation, hand_over, invite, join_as, join_with_new_account,
    open_invitation, pending_invitations, renew_invitation, withdraw_invitation,
};
pub use issues::{ACKNOWLEDGED_MAX, Decision, acknowledge_all, decide};
pub use mail::mail_invitation;
pub use maintenance::{
    add_window, delete_window, edit_window, end_window, share_calendar, unshare_calendar,
};
pub use members::{TeamMember, add_member, change_role, remove_member, team_members};
pub use monitoring::change_monitoring;
pub use names::{create_own_team, rename_team, rename_user};
pub use plan::change_plan;
pub use sign_in::mail_sign_in;
pub use site_groups::change_site_groups;
pub use sites::{
    GrowingTeam, OneOfMany, SITES_MAX, create_one_of_many, create_site, delete_site, pause_site,
    resume_site, save_site,
};
pub use status_pages::{
    create_incident, create_status_page, delete_incident, delete_status_page, edit_incident,
    edit_status_page,
};
pub use subscriptions::{
    add_recipient, confirm_subscription, recipients, remove_recipient, send_report, subscribe,
    unsubscribe,
};
pub use time_zone::{change_time_zone, change_user_time_zone};
pub use tokens::{create_token, revoke_own_token, revoke_token};
