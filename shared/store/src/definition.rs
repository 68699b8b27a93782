//! The table itself: what `template.yaml` declares, for a DynamoDB on this machine.

use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    PointInTimeRecoveryStatus, Projection, ProjectionType, ScalarAttributeType,
    TimeToLiveSpecification, TimeToLiveStatus,
};

use crate::StoreError;
use crate::keys::{PK, SK, TTL, WORK_DUE, WORK_INDEX, WORK_SHARD};
use crate::table::{Store, unavailable};

/// How much of the table exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableState {
    /// There is no table of this name.
    Missing,
    /// There is the table, but not the index of outstanding work.
    WithoutWorkIndex,
    /// The table and the index exist.
    Whole,
}

impl Store {
    /// Creates the table as `template.yaml` does, unless it exists.
    ///
    /// # Errors
    ///
    /// When DynamoDB cannot be reached or refuses.
    pub async fn create_table(&self) -> Result<(), StoreError> {
        if self.table_state().await? != TableState::Missing {
            return Ok(());
        }
        let element = |name: &str, key_type: KeyType| {
            KeySchemaElement::builder().attribute_name(name).key_type(key_type).build()
        };
        let attribute = |name: &str, kind: ScalarAttributeType| {
            AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build()
        };
        let work = GlobalSecondaryIndex::builder()
            .index_name(WORK_INDEX)
            .key_schema(element(WORK_SHARD, KeyType::Hash)?)
            .key_schema(element(WORK_DUE, KeyType::Range)?)
            .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build())
            .build()?;
        self.client
            .create_table()
            .table_name(&self.table)
            .billing_mode(BillingMode::PayPerRequest)
            .key_schema(element(PK, KeyType::Hash)?)
            .key_schema(element(SK, KeyType::Range)?)
            .attribute_definitions(attribute(PK, ScalarAttributeType::S)?)
            .attribute_definitions(attribute(SK, ScalarAttributeType::S)?)
            .attribute_definitions(attribute(WORK_SHARD, ScalarAttributeType::S)?)
            .attribute_definitions(attribute(WORK_DUE, ScalarAttributeType::N)?)
            .global_secondary_indexes(work)
            .send()
            .await
            .map_err(unavailable)?;
        let ttl = TimeToLiveSpecification::builder().attribute_name(TTL).enabled(true).build()?;
        self.client
            .update_time_to_live()
            .table_name(&self.table)
            .time_to_live_specification(ttl)
            .send()
            .await
            .map_err(unavailable)?;
        Ok(())
    }

    /// Whether DynamoDB deletes expired items.
    ///
    /// # Errors
    ///
    /// When DynamoDB cannot be reached or refuses.
    pub async fn forgets_expired(&self) -> Result<bool, StoreError> {
        let described = self.client.describe_time_to_live().table_name(&self.table).send().await;
        let described = described.map_err(unavailable)?.time_to_live_description;
        Ok(described.is_some_and(|ttl| {
            let is_on = [TimeToLiveStatus::Enabled, TimeToLiveStatus::Enabling];
            ttl.attribute_name() == Some(TTL)
                && ttl.time_to_live_status().is_some_and(|status| is_on.contains(status))
        }))
    }

    /// Whether the table has point-in-time recovery.
    ///
    /// # Errors
    ///
    /// When DynamoDB cannot be reached or refuses.
    pub async fn is_recoverable(&self) -> Result<bool, StoreError> {
        let described =
            self.client.describe_continuous_backups().table_name(&self.table).send().await;
        let described = described.map_err(unavailable)?.continuous_backups_description;
        let status = described
            .and_then(|backups| backups.point_in_time_recovery_description)
            .and_then(|recovery| recovery.point_in_time_recovery_status);
        Ok(status == Some(PointInTimeRecoveryStatus::Enabled))
    }

    /// How much of the table exists.
    ///
    /// # Errors
    ///
    /// When DynamoDB cannot be reached or refuses.
    pub async fn table_state(&self) -> Result<TableState, StoreError> {
        let described = match self.client.describe_table().table_name(&self.table).send().await {
            Ok(answer) => answer.table,
            Err(error) if error.code() == Some("ResourceNotFoundException") => None,
            Err(error) => return Err(unavailable(error)),
        };
        let Some(table) = described else { return Ok(TableState::Missing) };
        let indexes = table.global_secondary_indexes.unwrap_or_default();
        let has_index = indexes.iter().any(|index| index.index_name() == Some(WORK_INDEX));
        Ok(if has_index { TableState::Whole } else { TableState::WithoutWorkIndex })
    }
}
