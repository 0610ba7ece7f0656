"""Vector indexes: partitioned inner-product search over normalized vectors (`protocols.VectorIndex`).

packed          the default, exact: one partition per scope, small ones packed side by side
  pages, slab     where its rows are stored
  topk            the k largest scores
  checks          what every index asks of the rows it is given
faiss_cpu       large partitions on FAISS
  codes           4-bit codes that name candidates
faiss_gpu       large partitions on a GPU
  gpu_rows        the rows there, by FAISS or by torch
  torch_flat      all of them compared
  torch_lists     those of the nearest lists compared
  replayed        by one query or few, as a graph
  kernels         what it launches, by Triton
persistent      any of these, on disk as well
  files, snapshot, journal   the directory, a file of all vectors, and what came after it
searches        searches from coroutines: on the loop, or in batches on threads
"""
