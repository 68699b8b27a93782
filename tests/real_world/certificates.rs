//! Certificates of sites with http, on other ports, and with a chain that expires before its leaf.
