"""Steps of a pipeline, kept apart from answers: retrieved documents, tools, prompts, embeddings.

face            what a layer offers for them: start here
twin            one step for plain and for async code

Retrieval:

retrieval       results of a retriever
documents       how documents are read
sameness        do two queries want the same documents?
wide, ranking   fetches more than was asked for, and orders it for another query
additions       which results a new document would have been in
graph           what answers were built from

Others:

tools, schemas  results of tools; their arguments in canonical form
prompts         rendered prompts
shelf           answers that a framework makes itself
"""
