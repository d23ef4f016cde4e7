/*
 * programs.bpf.c - all that runs in the kernel: one object, of which only what is asked
 * for and exists is loaded
 */
#include "syscalls.bpf.h"
#include "uring.bpf.h"
#include "block.bpf.h"
#include "cache.bpf.h"
#include "fault.bpf.h"
#include "net.bpf.h"
#include "net_events.bpf.h"
