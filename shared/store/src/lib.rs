//! The single DynamoDB table of Vedette
