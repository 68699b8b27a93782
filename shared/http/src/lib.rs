//! HTTP shapes of the API: errors, authentication, validation, paging, resources
