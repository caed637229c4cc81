// Empty: carries the precompiled headers of the tests that see gRPC.
