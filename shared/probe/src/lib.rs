//! The check engines of Vedette
