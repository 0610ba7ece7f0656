"""What leaves the process: answers as bytes, without pickle.

codec           start here: an answer to bytes, and back
writer, reader  values as JSON, with tags for what JSON does not have
hints           the classes that an annotation names
tapes           streams
entry_log       entries in a file, for one process
  entry_parts, entry_body   its form; one entry in it
"""
