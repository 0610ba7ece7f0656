"""Embedders: texts to normalized float32 vectors, off the event loop (`protocols.Embedder`).

onnx            the default: all-MiniLM-L6-v2 in int8 on ONNX Runtime
  prepare         makes its model file once, from weights
  sources         where weights and tokenizer come from
  bert, onnx_format   writes the model as an ONNX graph
  session         opens model and tokenizer; texts as token ids
  guess           what it will make of a text, guessed from the words
cache           remembers embeddings, in front of any embedder
  cache_file      the same in a file
batched         concurrent texts as one call, for embedders that gain by it
checks          what every embedder asks of its input and of its vectors
http, sentence_transformers, from_callable   other embedders
  graphs, covered   a BERT as CUDA graphs; which models of sentence-transformers that may stand for
own             vectors of the owner's, for arguments that are not text
"""
