/*
 * layout.h - what the code inside the target and the tracer share. For C and assembler.
 *
 * One page of code at a fixed address, so that the filter can know its system calls by
 * their address; a page that sets the rest up; a page of tables. Then one slot a task:
 * a page of control words, which the task finds through gs, and a ring of records.
 */
#ifndef IOPS_FAST_LAYOUT_H
#define IOPS_FAST_LAYOUT_H

/* Below the shadows of the sanitizers, above where programs are linked. A gs within the
 * window is taken for ours, so all of it is mapped, until setup_trim(): what is a
 * program's own lies elsewhere. */
#define WINDOW_AT     0x6fff0000
#define WINDOW_END    0x7fff0000 /* WINDOW_AT + 2^28: the stubs test for it */
#define HOOK_AT       0x70000000 /* round: whoever maps over it takes all of it */
#define SETUP_AT      (HOOK_AT + 0x1000)
#define TABLES_AT     (HOOK_AT + 0x2000)
#define HOOK_SIZE     0x10000
#define FILTERS_AT    (HOOK_AT + 0x3000)
#define SLOTS_AT      (HOOK_AT + HOOK_SIZE)

#define SLOT_SIZE     0x44000
#define RING_FROM     0x1000  /* in the slot */
#define RING_SIZE     0x10000 /* at first; four times that once it has been full */
#define RING_MAX      0x40000
#define FIRST_USED    0x3000 /* of the first ring: more than most programs ever use */
#define RING_SLACK    0x2200 /* a record may reach this far beyond the limit */

/* io_getevents(2), whose records are of their own size and not of a shape. */
#define NR_EVENTS     208

/* In the tables: a byte for each number of a call, then strings. */
#define SHAPES_AT     TABLES_AT
#define NSHAPES       512
#define EMPTY_AT      (TABLES_AT + 0x200)
#define NAME_AT       (TABLES_AT + 0x208)
#define READY_AT      (TABLES_AT + 0x240) /* set when all is in place */
#define READY         0x79646165722d7069
#define START_AT      (TABLES_AT + 0x248) /* where a new program begins */
#define ACTION_AT     (TABLES_AT + 0x280) /* struct sigaction: our handler of SIGSYS, */
#define OWN_AT        (TABLES_AT + 0x2c0) /* and what there is without us: none, or SIG_IGN */
/* Programs of filters, the first and the second: struct sock_fprog, length 0 if there is
 * none, and its instructions 16 bytes further. */
#define ENTRIES_AT    (TABLES_AT + 0x300) /* a byte for each IORING_OP_... */
#define NENTRIES      64
#define SEND_PARTS    0x20 /* IORING_SEND_VECTORIZED */
#define ENTRY_PASS    0    /* it has more to tell than its entry: the call is to stop */
#define ENTRY_NOTED   1
#define ENTRY_PLACED  2 /* likewise, if it says its offset */
#define ENTRY_VECTOR  3 /* likewise, and what its parts ask for */
#define SEAL_AT       (TABLES_AT + 0x400)
#define SEAL_MAX      382
#define FILTER_AT     FILTERS_AT
#define FILTER_MAX    510

/* In the first slot, unused otherwise: guard.c. */
#define GUARD_OFFSET  0x800
#define GUARD_AT      (SLOTS_AT + GUARD_OFFSET)
#define SCRATCH_AT    (SLOTS_AT + 0xc00)

/* Likewise, for each ring that is entered through the hook: answers that are known. */
#define KNOWN_OFFSET  0x400
#define KNOWN_MAX     64

/* Likewise, behind the ring, for each context of Linux AIO whose calls go through the
 * hook: its key, and how much of its ring is known: the place of the next answer, how
 * much is asked for and not answered as far as is known, and how often that was seen.
 * Where they are follows from the key: hook.S, aio_hook.c. */
#define AIO_OFFSET    0x43800
#define AIO_AT        (SLOTS_AT + AIO_OFFSET)
#define AIO_SPREAD    0x61c88647
#define AIO_SHIFT     20
#define AIO_MASK      0x7e0 /* of an offset there: 64 pairs of them */
#define AIO_WORD      16
#define AIO_FIELD     0xffffff /* of a word: the place; what is asked for; then the turn */

/* How the arguments of a call are to be kept. */
#define SHAPE_PASS    0 /* not at all: the call is made from the stub */
#define SHAPE_PLAIN   1
#define SHAPE_VEC     2 /* iovec array in argument 1 */
#define SHAPE_MSG     3 /* struct msghdr in argument 1 */
#define SHAPE_TWO     4 /* offsets behind pointers */
#define SHAPE_OPEN0   5 /* a path in argument 0, and the result is a descriptor */
#define SHAPE_OPEN1   6 /* ... in argument 1 */
#define SHAPE_NEWFD   7 /* the result is a descriptor */
#define SHAPE_PAIR    8 /* two that are one file are where argument 0 leads: pipe(2) */
#define SHAPE_PATH0   9 /* a path in argument 0 */
#define SHAPE_PATH1   10
#define SHAPE_PATHS01 11 /* two of them */
#define SHAPE_PATHS13 12
#define SHAPE_PATHS02 13
#define SHAPE_RING    14   /* io_uring_enter(2): what is asked for and answered there */
#define SHAPE_SUBMIT  15   /* io_submit(2): likewise */
#define SHAPE_FREE    0x80 /* not at all: the call is made from the hook */
#define SHAPE_ACTION  0x81 /* likewise, unless argument 0 is SIGSYS, SIGSEGV or SIGBUS */
#define SHAPE_MASK    0x82 /* ... unless a mask is set that is odd: handler.c */
#define SHAPE_EXEC    0x83 /* not made, if the path in argument 0 leads nowhere */
#define SHAPE_MOVE    0x84 /* as free, unless argument 3 has MREMAP_FIXED or _DONTUNMAP */
#define SHAPE_LIMIT   0x85 /* as free, unless it sets RLIMIT_AS, by argument 1 */
#define SHAPE_WAIT    0x86 /* as free, but it is noted when it begins: again.c */
#define SHAPE_EVENTS  0x87 /* likewise, and what is answered in argument 0 behind it */
#define SHAPE_SPARE   0x88 /* as free, but a mask is set without SIGSYS */
#define SHAPE_DUPS    0x89 /* as free, but for what shape_returns() says of it */
#define SHAPE_SPACE   0x8a /* ... unless what is ours may be among arguments 0 and 1 */
#define SHAPE_CHILD   0x8b /* as what waits, of a child that has these flags: */

/* Of clone(2): it shares nothing; CLONE_PARENT_SETTID, _CHILD_SETTID, _CHILD_CLEARTID. */
#define CHILD_MAY     0x13000ff
/* A thread: CLONE_VM, _FS, _FILES, _SIGHAND, _THREAD. It may have the three above,
 * _SYSVSEM, _SETTLS, _DETACHED. */
#define THREAD_MUST   0x10f00
#define THREAD_MAY    0x17c0000

/* Control words, from the start of the slot. */
#define C_RING        0x00
#define C_HEAD        0x08
#define C_LIMIT       0x10
#define C_RDX         0x18
#define C_RET         0x20
#define C_R11         0x28
#define C_RAX         0x30
#define C_FLAGS       0x38
#define C_REC         0x40
#define C_STEP        0x48
#define C_RSI         0x50
#define C_R8          0x58
#define C_MASK        0x60 /* bytes of the ring, less one */
#define C_STATX       0x68 /* by which path new descriptors are asked what they are; 0: not */
#define ASK_NO_PATH   1 /* ... by NULL */
#define ASK_LATER     2 /* ... if need be: at the next call */
#define C_OWED        0x70 /* the head when what was opened last has been asked; 0: nothing */
#define C_RDI         0x78
#define C_R10         0x80
#define C_BUF         0x88 /* where fstat(2) of the program writes to */
#define C_BEGAN       0x90 /* time stamp of what waits, or makes a child; 0: of nothing */
#define C_GUARD       0x98 /* where something is 0 once the tracer is dead */
/* A ring of io_uring that it enters: its descriptor, -1: none; where a mapping of ours
 * has its parts; and where it is said how many answers are known. */
#define C_FD          0xa0
#define C_SQ_HEAD     0xa8
#define C_SQ_TAIL     0xb0
#define C_CQ_TAIL     0xb8
#define C_ARRAY       0xc0 /* indices of entries; 0: they are in order */
#define C_SQES        0xc8
#define C_CQES        0xd0
#define C_SQ_MASK     0xd8
#define C_CQ_MASK     0xdc
#define C_KNOWN       0xe0
#define C_CQ_HEAD     0xe8
#define C_BY          0xf0 /* IORING_ENTER_REGISTERED_RING, or 0 */
#define C_CQ_SAFE     0xf4 /* uring_safe() */
#define C_SET         0xf8 /* of signals: what is set in place of the program's */
#define C_STAT        0x100 /* struct statx; it stays in this CPU's cache, records do not */
#define C_SALT        0x200 /* of the process, for the keys of its contexts */
#define C_RESULT      0x208
#define C_VAIN        0x210 /* time stamp of the wait that is to be made again; 0: none */
#define C_VAIN_READ   0x218 /* ... the head of the answers then */
#define C_BACK        0x220 /* C_RET of recvmsg(2), where that leads to hook_control */
#define C_RIGHTS      0x228
#define RIGHTS_NEVER  0 /* where control data may come the call stops */
#define RIGHTS_MAY    1
#define RIGHTS_DUE    2 /* descriptors have come: it is about to stop for them */

/* A record; what the shapes add begins at R_MORE. */
#define R_T0          0x00
#define R_T1          0x08
#define R_RESULT      0x10
#define R_NR          0x18
#define R_STATE       0x1c
#define R_ARG         0x20 /* 0, 1, 2, 3; for iovecs their sum in place of 1, 5 of 2; */
			   /* for paths 4 in place of 1; for pairs what they are, of 2 */
#define R_MORE        0x40
#define R_SIZE        0x40

#define R_TWO_ARG4    0x40
#define R_TWO_OFF1    0x48
#define R_TWO_OFF2    0x50
#define R_TWO_SIZE    0x80

#define R_NEW_LEN     0x40 /* of the path */
#define R_NEW_STATX   0x48 /* its result; or */
#define STAT_OWN      1    /* what is kept is from the program's own fstat(2) */
#define R_NEW_STAT    0x50 /* struct fast_stat */
#define R_NEW_PATH    0x80
#define PATH_LEN      4095

#define R_PATHS_LEN1  0x40
#define R_PATHS_LEN2  0x48
#define R_PATHS       0x50 /* one behind the other, each with a zero byte */

/* Of io_uring_enter(2): entries from the first on that the kernel had not taken, then
 * answers, those that were there before the call first. */
#define R_RING_FROM   0x40
#define R_RING_N      0x44
#define R_RING_TAKEN  0x48 /* up to which the kernel has taken them in the end */
#define R_RING_KNOWN  0x4c /* the number of the first answer */
#define R_RING_BEFORE 0x50
#define R_RING_BEHIND 0x54
#define R_RING_THEN   0x58 /* the number of the first of those behind */
#define R_RING_READ   0x5c /* how many the program had read before the call */
#define R_RING_ENTRY  0x80
#define ENTRY_SIZE    64
#define ANSWER_SIZE   16
#define ENTRIES_MOST  64
#define ANSWERS_MOST  128

/* Of io_submit(2): struct told_iocb for each. Of what has been answered, with the number
 * of io_getevents(2) and a context in argument 0: struct told_event, and how often that
 * had been said before. */
#define R_AIO_N       0x40
#define R_AIO_TURN    0x44
#define R_AIO_FROM    0x80
#define IOCB_SIZE     32
#define EVENT_SIZE    16
#define IOCBS_MOST    200
#define EVENTS_MOST   256

#define REC_NONE      0
#define REC_BEGUN     1
#define REC_ENDED     2
#define REC_OWING     3 /* has ended, but what it has opened is still to be asked */

#ifndef __ASSEMBLER__
#include <stdint.h>

struct fast_ctl {
	uint64_t ring, head, limit, rdx, ret, r11, rax, flags, rec, step, rsi, r8, mask;
	uint64_t statx, owed, rdi, r10, buf, began, guard;
	struct ring_ctl {
		int64_t fd;
		uint64_t sq_head, sq_tail, cq_tail, array, sqes, cqes;
		uint32_t sq_mask, cq_mask;
		uint64_t known, cq_head;
		uint32_t by, cq_safe;
	} uring;
	uint64_t set;
	uint8_t stat[C_SALT - C_STAT];
	uint64_t salt, result, vain, vain_read, back, rights;
};

struct told_iocb {
	uint64_t at;         /* its address */
	uint16_t opcode, rw; /* rw: RWF_... */
	int32_t fd;
	uint64_t bytes, offset; /* bytes: of vectors their sum; 0: they cannot be read */
};

struct told_event {
	uint64_t iocb;
	int64_t result;
};

/* What a record of io_uring_enter(2) has at R_MORE. */
struct fast_ring {
	uint32_t from, n, taken, known, before, behind, then, read;
};

struct fast_rec {
	uint64_t t0, t1; /* time stamp counter */
	int64_t result;
	uint32_t nr, state;
	uint64_t arg[4];
};

/* Some of struct statx, eight bytes each; STAT_OWN: of struct stat, with two dev_t in
 * place of the numbers of devices and no mnt_id. */
struct fast_stat {
	uint32_t gid;
	uint16_t mode, spare;
	uint64_t ino, size;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t mnt_id;
};

/* The code to be copied to HOOK_AT and SETUP_AT, and places in it. */
extern const uint8_t hook_code[], hook_free_again[], hook_free[], hook_free_sys[],
	hook_free_post[], hook_free_end[], hook_exec[], hook_exec_saved[],
	hook_exec_end[], hook_guarded[], hook_enter[], hook_saved[], hook_flagged[],
	hook_special[], hook_special_end[], hook_load[], hook_load_end[],
	hook_fault_sum[], hook_fault_two[], hook_fault_path[], hook_fault_paths[],
	hook_paths_at[], hook_paths_end[], hook_sum_at[], hook_sum_end[], hook_two_at[],
	hook_two_end[], hook_path_at[], hook_path_end[], hook_sys[], hook_post[],
	hook_kept[], hook_done[], hook_new_sys[], hook_new_post[], hook_new_kept[],
	hook_stat_sys[], hook_new_end[], hook_end[], hook_mask_at[], hook_mask_end[],
	hook_owes[], hook_own_at[], hook_own_end[], hook_own_sys[], hook_own_post[],
	hook_take_at[], hook_take_end[], hook_own_out[], hook_pay[], hook_pay_saved[],
	hook_pay_sys[], hook_pay_end[], hook_paid[], hook_late[], hook_late_end[],
	hook_ring[], hook_ring_saved[], hook_ring_sys[], hook_ring_post[],
	hook_ring_kept[], hook_ring_told[], hook_ring_vain[], hook_ring_pass[],
	hook_ring_end[], hook_parts_at[], hook_parts_end[], hook_fault_parts[],
	hook_extended_at[], hook_extended_end[], hook_look[], hook_look_at[],
	hook_look_end[], hook_look_taken[], hook_pair_at[], hook_pair_end[],
	hook_fault_pair[], hook_look_told[], hook_look_gone[], hook_submit[],
	hook_submit_saved[], hook_submit_back[], hook_submit_pass[], hook_submit_end[],
	hook_iocb_at[], hook_iocb_end[], hook_events[], hook_events_sys[],
	hook_events_post[], hook_events_kept[], hook_events_again[], hook_events_made[],
	hook_events_end[], hook_room_at[], hook_room_end[], hook_submit_added[],
	hook_go[], hook_message[], hook_control[], hook_control_kept[], hook_control_at[],
	hook_control_end[], hook_control_out[], hook_control_over[], hook_spare[],
	hook_spare_at[], hook_spare_end[], hook_spare_saved[], hook_spare_sys[],
	hook_spare_post[], hook_spare_over[], hook_child_at[], hook_child_end[],
	hook_thread[], hook_thread_sys[], hook_thread_post[], hook_thread_end[];
extern const uint8_t setup_entry[], setup_entry_go[], setup_entry_end[], setup_named[];
extern const uint8_t setup_code[], setup_trap[], setup_barrier[], setup_barrier_trap[],
	setup_map[], setup_map_trap[], setup_unmap[], setup_unmap_trap[], setup_shut[],
	setup_shut_trap[], setup_start[], setup_start_shut[], setup_start_end[],
	setup_exec[], setup_exec_trap[], setup_filter[], setup_filter_trap[],
	setup_orphan[], setup_ring_code[], setup_ring_trap[], setup_end[];

/* Where a place of the second page is in the target. */
static inline uint64_t setup_at(const uint8_t *label)
{
	return SETUP_AT + (uint64_t)(label - setup_code);
}
#endif

#endif
