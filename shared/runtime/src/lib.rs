//! What a Vedette process is made of: configuration, clock, ports, telemetry
