"""Ways to hold the layer that need a framework or a server; installed as `cachelayer.adapters`.

asgi/           middleware in front of an app
openai_wire/    OpenAI's wire form as bytes
openai, openai_streams   the official client
langchain/      LangChain
tensorrt_llm/   TensorRT-LLM as a backend
triton          the same over Triton's gRPC
"""
