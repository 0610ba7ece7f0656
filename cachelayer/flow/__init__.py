"""Concurrency: tasks, queues and timeouts are made here and nowhere else.

One call for many callers:

singleflight    one call per key, from any task, loop or thread
  flight          one of them
reentrancy      which calls the running code is part of, so that it never waits for itself
together        several works at once, or one for several callers
batcher         concurrent awaits as one call

Streams:

recording       a stream recorded while it passes; early and late readers share it
readers         what a reader holds
tee             the same for plain generators
channel         work that hands out items at its reader's pace
relay           passes an item on without a turn of the loop

Budgets and faults:

attempt         runs one stage within its budget; slowness and faults become reasons
race            a lookup with a head start on a call
breaker         leaves a failing tier alone for a while
waiting, deadlines   timers and bounded waits; one timer for many equal budgets
watch           cancels a block when its caller disconnects

Work in the background:

background      bounded tasks
writeback       a bounded queue of answers to store
deferred        work put off until its caller has gone on
eager           tasks whose first step runs at once

Threads, loops and processes:

portal          a loop in a thread of its own, for plain functions
pool            threads for work that would hold up the loop
attendance      which loop works for all others
loops           the running loop
busy_poll       keeps it awake for a reply
forks           locks that survive a fork

http            HTTP/1.1 to servers behind us
connections     those it is spoken on
certificates    files of certificates, as they stand
hosts           connections to a host by its name, whichever of its addresses answers
"""
