"""Steps in the form that a trainer's own training loop takes them in.

Each module needs what it is named after, and none is imported from here:

- `micro_batches`: a plain PyTorch loop, over tensors and loss weights;
- `torchtitan_loader`: torchtitan's data loader;
- `megatron_scheduler`: Megatron-Core's packing scheduler, which packs each global batch
  by itself.
"""
