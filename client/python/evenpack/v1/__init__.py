"""The API's messages (`proto/evenpack/v1`) and gRPC stubs, generated at build time."""
