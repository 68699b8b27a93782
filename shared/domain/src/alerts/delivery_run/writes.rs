//! What a delivery run writes about something that it does not send now.

use jiff::Timestamp;

use crate::alerts::delivery::{Content, DeliveryState, Queued};

use super::DeliveryRun;
use super::batch::ReadyNews;
use super::step::{DeliveryStep, OutboxCheck, Write};

impl DeliveryRun<'_> {
    pub(super) fn write(&mut self, write: Write) {
        self.steps.push_back(DeliveryStep::Write(Box::new(write)));
    }

    /// Looks at an issue again at another time, unless it has changed meanwhile.
    pub(super) fn put_off(&mut self, delivery: DeliveryState, due: Option<Timestamp>) {
        let rev = delivery.rev + 1;
        self.write(Write::PutState(DeliveryState { due, rev, ..delivery }));
    }

    pub(super) fn put_all_off(
        &mut self,
        ready: impl IntoIterator<Item = ReadyNews>,
        due: Option<Timestamp>,
    ) {
        ready.into_iter().for_each(|ready| self.put_off(ready.delivery, due));
    }

    /// Forgets an issue when there is nothing to say about it.
    pub(super) fn forget(&mut self, delivery: DeliveryState) {
        self.write(Write::DeleteState(delivery));
    }

    /// Forgets an issue that is gone or over, unless its end is still in the outbox.
    pub(super) fn forget_after_outbox(&mut self, delivery: DeliveryState) {
        self.steps.push_back(DeliveryStep::CheckOutbox(OutboxCheck::Forget(Box::new(delivery))));
    }

    /// Saves something that waits to be sent. Only this run writes it.
    pub(super) fn save_queued(&mut self, queued: Queued) {
        let rev = queued.rev + 1;
        self.write(Write::PutQueued(Queued { rev, ..queued }));
    }

    /// Removes something that was sent or no longer needs to be sent.
    pub(super) fn drop_queued(&mut self, queued: Queued) {
        self.write(Write::DeleteQueued(queued));
    }

    /// Leaves everything as it is until the channel is enabled again.
    pub(super) fn park(
        &mut self,
        deliveries: Vec<DeliveryState>,
        queued: Vec<Queued>,
        now: Timestamp,
    ) {
        // Messages that wait for a person to enable the channel do not count as given up.
        let is_given_up = self.channel_state.disabled.is_some();
        for delivery in deliveries {
            if let Some(due) = delivery.due {
                self.delivered.given_up += u64::from(is_given_up && due <= now);
                self.put_off(DeliveryState { is_held: true, ..delivery }, None);
            }
        }
        for queued in queued {
            if queued.is_scheduled() {
                match queued.due.is_some_and(|due| due > now) {
                    true => self.look_at(queued.due),
                    false => self.schedule_test(queued, now),
                }
            } else if matches!(queued.content, Content::Test { .. }) && !queued.is_weekly_test() {
                self.drop_test(queued, now);
            } else if queued.due.is_some() {
                let is_alert = matches!(queued.content, Content::Event { .. });
                self.delivered.given_up += u64::from(is_given_up && is_alert);
                self.save_queued(Queued { due: None, opened_at: None, ..queued });
            }
        }
    }
}
