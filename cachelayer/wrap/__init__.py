"""Wrapping functions: what a callable becomes, its name, its options.

decorator       what kind a callable is, and its wrapper: start here
handles         what a wrapped function offers: outcome, invalidate, refresh, ...
methods         functions of classes
registry        all functions of a layer
naming          their names; whether options fit the signature
options         options beside the fields of `Policy`
scoped          what scopes and restrictions cover: blocks, and functions of any kind
scoped_generators   generators that run in a scope of their own
redefinition    functions that are defined again
wrapped         the types that type checkers see
"""
