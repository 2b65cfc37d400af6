//! Pool and map handles as users see them.
