/*
 * hook.S - the code inside the target: log a call into the task's ring, make the call
 *
 * Entered from a stub with rcx at the stub's way back. To the program the whole must
 * look like one syscall instruction: no stack, all registers kept but rax, rcx and r11,
 * flags as the kernel gives them. A page fault at a pointer of the program's is mended
 * by the tracer, which sees the signal first: it goes on at hook_fault_*. Wherever a
 * signal stops the task in here, mend.c takes it back to the call site: the labels say
 * what is where.
 */
#if defined(__x86_64__)
#include "layout.h"

#define CTL(word) %gs:word
/* Below, as a signed number, is nothing of the program's: mmap_min_addr, and the kernel's
   half. To ask there would raise a signal, which the kernel sets back to its default
   where it is blocked or ignored. */
#define LOWEST    4096

	.section .rodata
/*
 * What is put in the place of the first instructions of a new program (first.c): it maps
 * the pages that follow, and goes on with a copy of setup_named.
 */
	.globl setup_entry, setup_entry_go, setup_entry_end
setup_entry:
	.asciz	"iops"
setup_entry_go:
	movl	$9, %eax		/* mmap(WINDOW_AT, ..., PROT_READ|PROT_EXEC, ... */
	movl	$WINDOW_AT, %edi
	movl	$SLOTS_AT-WINDOW_AT, %esi
	movl	$5, %edx
	movl	$0x100022, %r10d	/* MAP_PRIVATE|MAP_ANONYMOUS|MAP_FIXED_NOREPLACE */
	movq	$-1, %r8
	xorl	%r9d, %r9d
	syscall
	cmpq	$WINDOW_AT, %rax
	je	1f
	int3
1:	leaq	setup_entry(%rip), %rdi
setup_entry_end:

	.globl hook_mask_at, hook_mask_end
	.globl hook_free_again, hook_guarded, hook_free, hook_free_sys, hook_free_post, hook_free_end
	.globl hook_exec, hook_exec_saved, hook_exec_end
	.globl hook_code, hook_enter, hook_saved, hook_flagged, hook_special
	.globl hook_special_end, hook_fault_sum, hook_fault_two, hook_fault_path
	.globl hook_sum_at, hook_sum_end, hook_two_at, hook_two_end, hook_path_at
	.globl hook_fault_paths, hook_paths_at, hook_paths_end
	.globl hook_path_end, hook_sys, hook_post, hook_kept, hook_done, hook_new_sys
	.globl hook_new_post, hook_new_kept, hook_stat_sys, hook_new_end, hook_end
	.globl hook_pair_at, hook_pair_end, hook_fault_pair
	.globl hook_late, hook_late_end, hook_owes, hook_own_at, hook_own_end
	.globl hook_own_sys, hook_own_post, hook_take_at, hook_take_end, hook_own_out
	.globl hook_pay, hook_pay_saved, hook_pay_sys, hook_pay_end, hook_paid
	.globl hook_ring, hook_ring_saved, hook_ring_sys, hook_ring_post, hook_ring_kept
	.globl hook_extended_at, hook_extended_end
	.globl hook_parts_at, hook_parts_end, hook_fault_parts
	.globl hook_ring_told, hook_ring_vain, hook_ring_pass, hook_ring_end
	.globl hook_look, hook_look_at, hook_look_end, hook_look_taken, hook_look_told
	.globl hook_look_gone, hook_submit, hook_submit_saved, hook_submit_pass, hook_submit_back
	.globl hook_submit_end, hook_iocb_at, hook_iocb_end, hook_events
	.globl hook_events_sys, hook_events_post, hook_events_kept, hook_events_made
	.globl hook_events_again, hook_events_end, hook_room_at, hook_room_end, hook_submit_added
	.globl hook_message, hook_control, hook_control_kept, hook_control_at
	.globl hook_control_end, hook_control_out, hook_control_over, hook_go, hook_spare, hook_spare_at, hook_spare_end, hook_spare_saved
	.globl hook_spare_sys, hook_spare_post, hook_spare_over, hook_child_at, hook_child_end
	.globl hook_thread, hook_thread_sys, hook_thread_post, hook_thread_end

.macro restore_flags
	movzwl	CTL(C_FLAGS), %eax
	addb	$0x7f, %al		/* overflows if it was 1: OF */
	sahf
.endm

.macro keep from, to
	movq	CTL(C_STAT+\from), %rcx
	movq	%rcx, R_NEW_STAT+\to(%r11)
.endm

/* What edi says that has just been opened, by the path that esi says: statx(2) into the
   record. */
.macro ask label
	andl	$~(ASK_NO_PATH|ASK_LATER), %esi
	movl	$0x5000, %edx		/* AT_EMPTY_PATH, AT_STATX_DONT_SYNC */
	movl	$0x17ff, %r10d		/* STATX_BASIC_STATS, STATX_MNT_ID */
	movq	CTL(C_RING), %r8
	addq	$C_STAT-RING_FROM, %r8
	movl	$332, %eax
\label:
	syscall
	movq	CTL(C_REC), %r11
	keep	0x18, 0			/* of struct statx: stx_gid, stx_mode */
	keep	0x20, 8			/* stx_ino */
	keep	0x28, 16		/* stx_size */
	keep	0x80, 24		/* stx_rdev_major, stx_rdev_minor */
	keep	0x88, 32		/* stx_dev_major, stx_dev_minor */
	keep	0x90, 40		/* stx_mnt_id */
	movq	%rax, R_NEW_STATX(%r11)
.endm

/* handler.c: whether all but a few signals are in rcx, and SIGSYS likewise. Clobbers rax,
   rdx. */
.macro odd_mask
	movq	%rcx, %rdx
	notq	%rdx
	andq	$~0x40040100, %rdx	/* SIGSYS; SIGKILL, SIGSTOP: they are never blocked */
	popcntq	%rdx, %rdx
	cmpl	$9, %edx
	setb	%al
	btl	$30, %ecx
	setc	%dl
	cmpb	%dl, %al
.endm

	.balign 64
hook_code:
hook_pass:	/* not one of ours, or no room: the stub makes the call, and may stop */
	restore_flags
	movq	CTL(C_RAX), %rax
	movq	CTL(C_RDX), %rdx
	movq	CTL(C_RET), %rcx
	leaq	-2(%rcx), %rcx
	jmp	*%rcx

hook_wait:
	cmpl	$SHAPE_EVENTS-0x100, %edx
	je	hook_events
	ja	hook_beyond
hook_began:
	rdtsc
	shlq	$32, %rdx
	orq	%rax, %rdx
	movq	%rdx, CTL(C_BEGAN)
	jmp	hook_free

hook_beyond:
	cmpl	$SHAPE_DUPS-0x100, %edx
	jb	hook_spare
	ja	hook_space
	movl	$SHAPE_PLAIN, %edx
	testl	%esi, %esi		/* F_DUPFD */
	jz	hook_record
	cmpl	$4, %esi		/* F_SETFL */
	je	hook_record
	cmpl	$1030, %esi		/* F_DUPFD_CLOEXEC */
	jne	hook_free
	jmp	hook_record

hook_space:	/* what is ours is not to be taken unseen: rival.c */
	cmpl	$SHAPE_SPACE-0x100, %edx
	ja	hook_child
	testq	%rdi, %rdi
	jz	hook_free
	cmpq	$WINDOW_END, %rdi
	jae	hook_free
	leaq	(%rdi,%rsi), %rcx
	cmpq	$WINDOW_AT, %rcx
	jbe	hook_free
	jmp	hook_pass

hook_move:	/* code perhaps, which is to be as it was: patch_moves() */
	cmpl	$SHAPE_LIMIT-0x100, %edx
	je	1f
	ja	hook_wait
	testl	$6, %r10d
	jz	hook_free
	jmp	hook_pass
1:	cmpl	$9, %esi		/* RLIMIT_AS, which our mappings would count for */
	jne	hook_free
	cmpq	$0, CTL(C_RDX)
	je	hook_free
	jmp	hook_pass

hook_other:
	jz	hook_pass
	cmpl	$SHAPE_ACTION-0x100, %edx
	jb	hook_free
	ja	1f
	cmpl	$31, %edi		/* SIGSYS, or what becomes of faults: faults.c */
	je	hook_pass
	cmpl	$11, %edi
	je	hook_pass
	cmpl	$7, %edi
	je	hook_pass
	jmp	hook_free
1:	cmpl	$SHAPE_EXEC-0x100, %edx
	ja	hook_move
	je	hook_exec
	cmpq	$LOWEST, %rsi
	jl	hook_free
	testl	$~2, %edi		/* SIG_BLOCK, SIG_SETMASK: else there is no mask to be set */
	jnz	hook_free
hook_mask_at:
	movq	(%rsi), %rcx
hook_mask_end:
	odd_mask
	jne	hook_pass
hook_free:	/* nobody cares for it: made from here, where nothing makes it stop */
	restore_flags
	movq	CTL(C_RAX), %rax
	movq	CTL(C_RDX), %rdx
hook_free_sys:
	syscall
hook_free_post:
	leaq	4(%rax), %rcx		/* EINTR */
	jrcxz	2f
1:	movq	CTL(C_RET), %rcx
	jmp	*%rcx
	/*
	 * Who gets a signal is taken back to its site, and does not come here: no handler
	 * has run. What ends so for any signal is to stop, and is made again: again.c. Not
	 * where there is no tracer any more. No flags are touched.
	 */
2:	movq	CTL(C_RAX), %rcx
	movzbl	SHAPES_AT(%rcx), %ecx
	leal	-SHAPE_WAIT(%rcx), %ecx
	jrcxz	3f
	jmp	1b
3:	movq	CTL(C_GUARD), %rcx
	movzwl	(%rcx), %ecx
	jrcxz	1b
	movq	CTL(C_RAX), %rax
hook_free_again:
	movq	CTL(C_RET), %rcx
	leaq	-2(%rcx), %rcx
	jmp	*%rcx
hook_free_end:

/*
 * Most programs along a PATH are not there, and stat(2) says so as execve(2) would, but
 * without a stop. Whatever else it says is for the call itself to find out. rsi is in its
 * control word; once they are restored nothing here touches the flags.
 */
hook_exec:
	movq	%rsi, CTL(C_RSI)
hook_exec_saved:
	restore_flags
	movq	CTL(C_RDX), %rdx
	movq	CTL(C_RING), %rsi
	leaq	C_STAT-RING_FROM(%rsi), %rsi
	movl	$4, %eax
	syscall
	movq	CTL(C_RSI), %rsi
	leaq	2(%rax), %rcx		/* ENOENT */
	jrcxz	1f
	leaq	20(%rax), %rcx		/* ENOTDIR */
	jrcxz	1f
	movq	CTL(C_RAX), %rax
	movq	CTL(C_RET), %rcx
	leaq	-2(%rcx), %rcx
	jmp	*%rcx
1:	movq	CTL(C_RET), %rcx
	jmp	*%rcx
hook_exec_end:

/*
 * Where our handler waits for SIGSYS, in case that the tracer dies: a signal that is
 * raised while it is blocked would take the handler away, and the kernel end the program.
 * As they are in the C library around clone(2), which is made at its site.
 */
hook_spare:
	cmpq	$LOWEST, %rsi
	jl	hook_free
	testl	$~2, %edi		/* as above */
	jnz	hook_free
hook_spare_at:
	movq	(%rsi), %rcx
hook_spare_end:
	odd_mask
	jne	hook_pass
	btrq	$30, %rcx		/* SIGSYS */
	jnc	hook_free
	movq	%rcx, CTL(C_SET)
	movq	%rsi, CTL(C_RSI)
hook_spare_saved:
	restore_flags
	movq	CTL(C_RAX), %rax
	movq	CTL(C_RDX), %rdx
	movq	CTL(C_RING), %rsi
	leaq	C_SET-RING_FROM(%rsi), %rsi
hook_spare_sys:
	syscall
hook_spare_post:
	movq	CTL(C_RSI), %rsi
	movq	CTL(C_RET), %rcx
	jmp	*%rcx
hook_spare_over:

/*
 * A file was opened and has not been asked what it is: most programs do that next, by
 * fstat(2), and what they are told will do. Any other call that is of interest comes
 * behind a statx(2) of ours. Its record ends then; up to C_HEAD each step may be done again.
 */
.macro pay via
	movl	$REC_ENDED, R_STATE(%r11)
	movq	CTL(C_OWED), \via
	movq	\via, CTL(C_HEAD)
	movq	$0, CTL(C_OWED)
.endm

hook_owes:	/* rdx: the number of the call */
	cmpq	$NSHAPES, %rdx
	jae	hook_pay
	cmpb	$SHAPE_FREE, SHAPES_AT(%rdx)
	jne	hook_pay
	movq	%rsi, %rcx
	cmpl	$5, %edx
	je	1f
	cmpl	$426, %edx		/* io_uring_enter(2) may close it */
	je	hook_pay
	cmpl	$262, %edx		/* newfstatat(fd, "", ..., AT_EMPTY_PATH) */
	jne	hook_paid
	cmpl	$0x1000, %r10d
	jne	hook_paid
	cmpq	$LOWEST, %rsi
	jl	hook_paid
hook_own_at:
	cmpb	$0, (%rsi)
hook_own_end:
	jne	hook_paid
	movq	CTL(C_RDX), %rcx
1:	movq	CTL(C_REC), %r11
	cmpl	%edi, R_RESULT(%r11)
	jne	hook_paid
	movq	%rcx, CTL(C_BUF)
	restore_flags			/* from here on nothing touches them */
	movq	CTL(C_RAX), %rax
	movq	CTL(C_RDX), %rdx
hook_own_sys:
	syscall
hook_own_post:
	movq	%r11, CTL(C_R11)
	movq	%rax, %rcx
	jrcxz	1f
	jmp	hook_own_out
1:	movq	CTL(C_REC), %r11
	movq	CTL(C_BUF), %rcx
hook_take_at:
	movl	32(%rcx), %edx		/* st_gid, st_mode */
	movl	%edx, R_NEW_STAT(%r11)
	movl	24(%rcx), %edx
	movl	%edx, R_NEW_STAT+4(%r11)
	movq	8(%rcx), %rdx		/* st_ino */
	movq	%rdx, R_NEW_STAT+8(%r11)
	movq	48(%rcx), %rdx		/* st_size */
	movq	%rdx, R_NEW_STAT+16(%r11)
	movq	40(%rcx), %rdx		/* st_rdev */
	movq	%rdx, R_NEW_STAT+24(%r11)
	movq	(%rcx), %rdx		/* st_dev */
hook_take_end:
	movq	%rdx, R_NEW_STAT+32(%r11)
	movq	$STAT_OWN, R_NEW_STATX(%r11)
	pay	%rdx
hook_own_out:
	movq	CTL(C_R11), %r11
	movq	CTL(C_RDX), %rdx
	movq	CTL(C_RET), %rcx
	jmp	*%rcx

hook_pay:
	movq	%rdi, CTL(C_RDI)
	movq	%rsi, CTL(C_RSI)
	movq	%r8, CTL(C_R8)
	movq	%r10, CTL(C_R10)
hook_pay_saved:
	movq	CTL(C_REC), %r11
	movl	CTL(C_STATX), %esi
	testl	%esi, %esi
	jz	1f
	movl	R_RESULT(%r11), %edi
	ask	hook_pay_sys
1:	pay	%rdx
	movq	CTL(C_RDI), %rdi
	movq	CTL(C_RSI), %rsi
	movq	CTL(C_R8), %r8
	movq	CTL(C_R10), %r10
	movq	CTL(C_RAX), %rdx
	jmp	hook_paid
hook_pay_end:

/*
 * io_uring_enter(2): the entries that the kernel is about to take, and the answers that
 * nobody has noted yet, before the call and behind it. From the
 * second label on rdi and r8 are in their control words, and r10 is in the record.
 */
.macro answers first
	/* ecx of them from number eax on, which is in the record, to rdi; clobbers rdx, r8 */
	testl	%ecx, %ecx
	jz	92f
91:	movl	%eax, %edx
	andl	CTL(C_CQ_MASK), %edx
	shlq	$4, %rdx
	addq	CTL(C_CQES), %rdx
	movq	(%rdx), %r8
	movq	%r8, (%rdi)
	movq	8(%rdx), %r8
	movq	%r8, 8(%rdi)
	addq	$ANSWER_SIZE, %rdi
	incl	%eax
	decl	%ecx
	jnz	91b
	/* May the kernel have come around to them meanwhile? Above, then. */
	movq	CTL(C_CQ_HEAD), %rdx
	movl	(%rdx), %edx
	subl	\first(%r11), %edx
	decl	%edx
	js	93f			/* no: it never gets past that */
	movq	CTL(C_CQ_TAIL), %rdx
	movl	(%rdx), %edx
	subl	\first(%r11), %edx
	cmpl	CTL(C_CQ_SAFE), %edx
	jmp	92f
93:	testl	%ecx, %ecx
92:
.endm

.macro copy from, to
	movq	\from(%rdx), %r8
	movq	%r8, \from(%rdi)
	movq	\to(%rdx), %r8
	movq	%r8, \to(%rdi)
.endm

hook_ring:
	movq	%rdi, CTL(C_RDI)
	movq	%r8, CTL(C_R8)
hook_ring_saved:
	cmpl	CTL(C_FD), %edi
	jne	hook_ring_pass
	movl	%r10d, %eax
	andl	$~9, %eax		/* but IORING_ENTER_GETEVENTS, _EXT_ARG */
	cmpl	CTL(C_BY), %eax
	jne	hook_ring_pass
	testl	$8, %r10d
	jz	1f
	cmpq	$24, %r9		/* struct io_uring_getevents_arg: sigmask */
	jne	hook_ring_pass
	cmpq	$LOWEST, %r8
	jl	hook_ring_pass
hook_extended_at:
	movq	(%r8), %r8
hook_extended_end:
1:	testq	%r8, %r8
	jnz	hook_ring_pass
	movq	CTL(C_SQ_HEAD), %rax
	movl	(%rax), %eax
	movq	CTL(C_SQ_TAIL), %rcx
	movl	(%rcx), %ecx
	movl	%eax, R_RING_FROM(%r11)
	movl	%eax, R_RING_TAKEN(%r11)
	subl	%eax, %ecx		/* all that are ready: others may take the first ones */
	cmpl	$ENTRIES_MOST, %ecx
	ja	hook_ring_pass
	movl	%ecx, R_RING_N(%r11)
	leaq	R_RING_ENTRY(%r11), %rdi
	jmp	3f
1:	movl	%eax, %edx
	andl	CTL(C_SQ_MASK), %edx
	movq	CTL(C_ARRAY), %r8
	testq	%r8, %r8
	jz	2f
	movl	(%r8,%rdx,4), %edx
	cmpl	CTL(C_SQ_MASK), %edx
	ja	hook_ring_pass
2:	shlq	$6, %rdx
	addq	CTL(C_SQES), %rdx
	copy	0, 8
	copy	16, 24
	copy	32, 40
	copy	48, 56
	movzbl	(%rdi), %edx
	cmpl	$NENTRIES, %edx
	jae	hook_ring_pass
	movzbl	ENTRIES_AT(%rdx), %edx
	subl	$ENTRY_NOTED, %edx
	jb	hook_ring_pass
	jnz	6f
	testb	$SEND_PARTS, 2(%rdi)	/* what is sent may be in parts */
	jz	4f
	jmp	hook_ring_pass
6:	cmpq	$-1, 8(%rdi)		/* the position of the descriptor */
	je	hook_ring_pass
	cmpl	$ENTRY_VECTOR-ENTRY_NOTED, %edx
	jne	4f
	movq	16(%rdi), %r8		/* addr, len: the sum in place of the address */
	movl	24(%rdi), %edx
	movq	$0, 16(%rdi)
	cmpq	$LOWEST, %r8
	jl	4f
	cmpl	$1024, %edx		/* IOV_MAX */
	ja	4f
	testl	%edx, %edx
	jz	4f
hook_parts_at:
8:	movq	8(%r8), %r10
hook_parts_end:
	addq	%r10, 16(%rdi)
	addq	$16, %r8
	decl	%edx
	jnz	8b
	jmp	4f
hook_fault_parts:
	movq	$0, 16(%rdi)
4:	addq	$ENTRY_SIZE, %rdi
	incl	%eax
	decl	%ecx
3:	testl	%ecx, %ecx
	jnz	1b
	movl	%ecx, R_RING_BEHIND(%r11)
	movq	CTL(C_CQ_HEAD), %rax
	movl	(%rax), %eax
	movl	%eax, R_RING_READ(%r11)
	movq	CTL(C_KNOWN), %rax
	movl	(%rax), %eax
	movl	%eax, R_RING_KNOWN(%r11)
	movq	CTL(C_CQ_TAIL), %rcx
	movl	(%rcx), %ecx
	subl	%eax, %ecx
	cmpl	$ANSWERS_MOST, %ecx
	ja	hook_ring_pass
	movl	%ecx, R_RING_BEFORE(%r11)
	answers	R_RING_KNOWN
	ja	hook_ring_pass
	movq	%rdi, CTL(C_BUF)
	movq	CTL(C_RDI), %rdi
	movq	CTL(C_R8), %r8
	movq	R_ARG+24(%r11), %r10
	restore_flags
	rdtsc
	movl	%eax, R_T0(%r11)
	movl	%edx, R_T0+4(%r11)
	movl	$REC_BEGUN, R_STATE(%r11)
	movq	CTL(C_RAX), %rax
	movq	CTL(C_RDX), %rdx
hook_ring_sys:
	syscall
hook_ring_post:
	movq	%r11, CTL(C_R11)
	leaq	4(%rax), %rcx		/* EINTR */
	jrcxz	4f
	jmp	5f
4:	jmp	hook_ring_vain
5:	movq	CTL(C_REC), %r11
	movq	%rax, R_RESULT(%r11)
hook_ring_kept:
	rdtsc
	movl	%eax, R_T1(%r11)
	movl	%edx, R_T1+4(%r11)
	movq	CTL(C_SQ_HEAD), %rax
	movl	(%rax), %eax
	movl	%eax, R_RING_TAKEN(%r11)
	movq	CTL(C_BUF), %rdi
	movl	R_RING_KNOWN(%r11), %eax
	addl	R_RING_BEFORE(%r11), %eax
	movq	CTL(C_KNOWN), %rcx
	movl	(%rcx), %ecx		/* others may have gone on noting */
	movl	%ecx, %edx
	subl	%eax, %edx
	cmovnsl	%ecx, %eax
	movl	%eax, R_RING_THEN(%r11)
	movq	CTL(C_CQ_TAIL), %rcx
	movl	(%rcx), %ecx
	subl	%eax, %ecx
	jns	1f
	xorl	%ecx, %ecx
1:	movl	$ANSWERS_MOST, %edx
	cmpl	%edx, %ecx
	cmoval	%edx, %ecx
	movl	%ecx, R_RING_BEHIND(%r11)
	answers	R_RING_THEN
	jbe	6f
	xorl	%ecx, %ecx		/* the tracer will see how many are lost */
	movl	%ecx, R_RING_BEHIND(%r11)
	movq	CTL(C_BUF), %rdi
6:	movl	R_RING_THEN(%r11), %eax
	addl	R_RING_BEHIND(%r11), %eax
	movl	%eax, CTL(C_BUF)
	subq	%r11, %rdi
	addq	$63, %rdi
	andq	$-64, %rdi
	movq	%rdi, CTL(C_STEP)
	movq	CTL(C_RDI), %rdi
	movq	CTL(C_R8), %r8
	restore_flags
	movl	$REC_ENDED, R_STATE(%r11)
	movq	CTL(C_HEAD), %rcx
	movq	CTL(C_STEP), %rdx
	leaq	(%rcx,%rdx), %rcx
	movq	%rcx, CTL(C_HEAD)
hook_ring_told:	/* not before: who goes on from there is to be told of later */
	movl	CTL(C_BUF), %ecx
	movq	CTL(C_KNOWN), %rdx
	movl	%ecx, (%rdx)
	jmp	hook_done
/*
 * It has taken nothing, and has been woken for a signal that somebody else has got, or
 * nobody: else the task would not be here. It is to stop, and is made again: early.c.
 */
hook_ring_vain:
	movq	CTL(C_GUARD), %rcx
	movzwl	(%rcx), %ecx
	jrcxz	7f
	movq	CTL(C_REC), %r11
	movl	$REC_NONE, R_STATE(%r11)
	movl	R_RING_READ(%r11), %ecx
	movq	%rcx, CTL(C_VAIN_READ)
	movq	R_T0(%r11), %rcx
	movq	%rcx, CTL(C_VAIN)
	movq	CTL(C_RAX), %rax
	movq	CTL(C_RET), %rcx
	leaq	-2(%rcx), %rcx
	jmp	*%rcx
7:	jmp	5b
hook_ring_pass:
	movq	CTL(C_RDI), %rdi
	movq	CTL(C_R8), %r8
	movq	R_ARG+24(%r11), %r10
	jmp	hook_pass
hook_ring_end:

/*
 * Entered here where the tracer may die before the program does: then nobody keeps signal
 * handlers out of here any more. As long as it lives some byte of the word is not zero.
 */
hook_guarded:
	movq	%rcx, %r11
	movzwl	GUARD_AT, %ecx
	jrcxz	1f
	movq	%r11, %rcx
	jmp	hook_enter
1:	leaq	-2(%r11), %rcx
	jmp	*%rcx

	.balign 32
hook_enter:
	movq	%rcx, CTL(C_RET)
	movq	%rax, CTL(C_RAX)
	movq	%rdx, CTL(C_RDX)
hook_saved:
	lahf
	seto	%al
	movw	%ax, CTL(C_FLAGS)
hook_flagged:
	movq	CTL(C_RAX), %rdx
	cmpq	$0, CTL(C_OWED)
	jne	hook_owes
hook_paid:
	cmpq	$NSHAPES, %rdx
	jae	hook_pass
	movsbl	SHAPES_AT(%rdx), %edx
	testl	%edx, %edx
	jle	hook_other
hook_record:
	movq	CTL(C_HEAD), %rcx
	cmpq	CTL(C_LIMIT), %rcx
	jae	hook_pass
	andl	CTL(C_MASK), %ecx
	movq	CTL(C_RING), %r11
	addq	%rcx, %r11
	movq	%r11, CTL(C_REC)
	movl	$REC_NONE, R_STATE(%r11)
	movq	CTL(C_RAX), %rax
	movl	%eax, R_NR(%r11)
	movq	CTL(C_RDX), %rax
	movq	%rdi, R_ARG(%r11)
	movq	%rsi, R_ARG+8(%r11)
	movq	%rax, R_ARG+16(%r11)
	movq	%r10, R_ARG+24(%r11)
	movq	$R_SIZE, CTL(C_STEP)
	cmpl	$SHAPE_PLAIN, %edx
	jne	hook_special
hook_go:
	restore_flags
	rdtsc
	movl	%eax, R_T0(%r11)
	movl	%edx, R_T0+4(%r11)
	movl	$REC_BEGUN, R_STATE(%r11)
	movq	CTL(C_RAX), %rax
	movq	CTL(C_RDX), %rdx
hook_sys:
	syscall
hook_post:
	movq	%r11, CTL(C_R11)
	movq	CTL(C_REC), %r11
	movq	%rax, R_RESULT(%r11)
hook_kept:
	rdtsc
	movl	%eax, R_T1(%r11)
	movl	%edx, R_T1+4(%r11)
	movl	$REC_ENDED, R_STATE(%r11)
	movq	CTL(C_HEAD), %rcx
	movq	CTL(C_STEP), %rdx
	leaq	(%rcx,%rdx), %rcx
	movq	%rcx, CTL(C_HEAD)
hook_done:
	movq	R_RESULT(%r11), %rax
	movq	CTL(C_RDX), %rdx
	movq	CTL(C_R11), %r11
	movq	CTL(C_RET), %rcx
	jmp	*%rcx

hook_special:	/* from here to the next label rsi is in its control word */
	movq	%rsi, CTL(C_RSI)
	cmpl	$SHAPE_TWO, %edx
	je	two_sides
	ja	new_fd
	movq	CTL(C_RDX), %rcx
	cmpl	$SHAPE_VEC, %edx
	je	vector
	cmpq	$LOWEST, %rsi
	jl	hook_fault_sum
hook_sum_at:
	cmpl	$46, R_NR(%r11)		/* sendmsg(2) */
	je	4f
	cmpq	$0, 32(%rsi)		/* msg_control may bring descriptors */
	jne	msg_control
4:
hook_sum_go:
	movq	24(%rsi), %rcx		/* msg_iovlen, msg_iov */
	movq	16(%rsi), %rsi
1:	xorl	%eax, %eax
	cmpq	$LOWEST, %rsi
	jl	3f
	cmpq	$1024, %rcx		/* IOV_MAX */
	ja	3f
	jrcxz	3f
2:	addq	8(%rsi), %rax
hook_sum_end:
	addq	$16, %rsi
	decq	%rcx
	jnz	2b
3:	movq	%rax, R_ARG+8(%r11)
	movq	CTL(C_RSI), %rsi
	jmp	hook_go
hook_fault_sum:
	xorl	%eax, %eax
	jmp	3b
msg_control:
	jmp	hook_message
vector:
	movq	%r9, R_ARG+16(%r11)
	jmp	1b

two_sides:	/* sendfile: *rdx; the others: *rsi, *r10 */
	movabsq	$0x8000000000000000, %rax
	movq	%rax, R_TWO_OFF1(%r11)
	movq	%rax, R_TWO_OFF2(%r11)
	movq	%r8, R_TWO_ARG4(%r11)
	movq	$R_TWO_SIZE, CTL(C_STEP)
	cmpl	$40, R_NR(%r11)
	jne	1f
	movq	CTL(C_RDX), %rsi
1:	cmpq	$LOWEST, %rsi
	jl	2f
hook_two_at:
	movq	(%rsi), %rax
	movq	%rax, R_TWO_OFF1(%r11)
2:	cmpl	$40, R_NR(%r11)
	je	3f
	cmpq	$LOWEST, %r10
	jl	3f
	movq	(%r10), %rax
	movq	%rax, R_TWO_OFF2(%r11)
hook_two_end:
hook_fault_two:
3:	movq	CTL(C_RSI), %rsi
	jmp	hook_go

paths:
	cmpl	$SHAPE_RING, %edx
	je	hook_ring
	ja	hook_submit
	xorl	%ecx, %ecx
	movq	%rcx, R_PATHS_LEN2(%r11)
	cmpl	$SHAPE_PATHS02, %edx
	je	1f
	movq	%r8, R_ARG+8(%r11)	/* in place of a pointer: flags of renameat2(2) */
	cmpl	$SHAPE_PATH0, %edx
	je	1f
	cmpl	$SHAPE_PATHS01, %edx
	jne	2f
1:	movq	%rdi, %rsi
2:	cmpq	$LOWEST, %rsi
	jl	hook_fault_paths
hook_paths_at:
2:	movzbl	(%rsi,%rcx), %eax
	movb	%al, R_PATHS(%r11,%rcx)
	testb	%al, %al
	jz	3f
	incl	%ecx
	cmpl	$PATH_LEN, %ecx
	jb	2b
3:	movq	%rcx, R_PATHS_LEN1(%r11)
	leaq	R_PATHS+1(%r11,%rcx), %rsi
	movq	%rsi, CTL(C_R8)
	cmpl	$SHAPE_PATHS01, %edx
	jb	6f
	movq	CTL(C_RSI), %rcx
	je	4f
	movq	%r10, %rcx
	cmpl	$SHAPE_PATHS13, %edx
	je	4f
	movq	R_ARG+16(%r11), %rcx
4:	movq	%rcx, %rsi
	xorl	%ecx, %ecx
	cmpq	$LOWEST, %rsi
	jl	hook_fault_paths
	movq	CTL(C_R8), %rdx
5:	movzbl	(%rsi,%rcx), %eax
hook_paths_end:
	movb	%al, (%rdx,%rcx)
	testb	%al, %al
	jz	6f
	incl	%ecx
	cmpl	$PATH_LEN, %ecx
	jb	5b
6:	movq	CTL(C_R8), %rsi		/* ecx: length of the second, if there is one */
	subq	%r11, %rsi
	subq	$R_PATHS+1, %rsi	/* rsi: of the first */
	movl	R_NR(%r11), %edx
	movzbl	SHAPES_AT(%rdx), %edx
	cmpl	$SHAPE_PATHS01, %edx
	jae	7f
	xorl	%ecx, %ecx
7:	movq	%rcx, R_PATHS_LEN2(%r11)
	leaq	R_PATHS+2+63(%rsi,%rcx), %rcx
	andq	$-64, %rcx
	movq	%rcx, CTL(C_STEP)
	movq	CTL(C_RSI), %rsi
	jmp	hook_go
hook_fault_paths:
	xorl	%ecx, %ecx
	movq	%rcx, R_PATHS_LEN1(%r11)
	movq	%rcx, R_PATHS_LEN2(%r11)
	movq	$128, CTL(C_STEP)
	movq	CTL(C_RSI), %rsi
	jmp	hook_go

new_fd:
	cmpl	$SHAPE_PATH0, %edx
	jae	paths
	xorl	%ecx, %ecx
	cmpl	$SHAPE_OPEN1, %edx
	ja	3f
	je	2f
	movq	%rdi, %rsi
2:	cmpq	$LOWEST, %rsi
	jl	hook_fault_path
hook_path_at:
2:	movzbl	(%rsi,%rcx), %eax
hook_path_end:
	movb	%al, R_NEW_PATH(%r11,%rcx)
	testb	%al, %al
	jz	3f
	incl	%ecx
	cmpl	$PATH_LEN, %ecx
	jb	2b
3:
new_path_done:
	movq	%rcx, R_NEW_LEN(%r11)
	movq	$-1, R_NEW_STATX(%r11)
	movq	CTL(C_RSI), %rsi
	restore_flags
	rdtsc
	movl	%eax, R_T0(%r11)
	movl	%edx, R_T0+4(%r11)
	movl	$REC_BEGUN, R_STATE(%r11)
	movq	CTL(C_RAX), %rax
	movq	CTL(C_RDX), %rdx
hook_special_end:
hook_new_sys:
	syscall
hook_new_post:
	movq	%r11, CTL(C_R11)
	movq	%r8, CTL(C_R8)
	movq	CTL(C_REC), %r11
	movq	%rax, R_RESULT(%r11)
hook_new_kept:	/* from here to the next label: arguments are in the record */
	rdtsc
	movl	%eax, R_T1(%r11)
	movl	%edx, R_T1+4(%r11)
	movq	R_RESULT(%r11), %rax
	testq	%rax, %rax
	js	4f
	movl	R_NR(%r11), %ecx	/* what it is in the table may have changed since */
	cmpl	$22, %ecx		/* pipe(2), pipe2(2) */
	je	9f
	cmpl	$293, %ecx
	jne	8f
9:	movq	R_ARG(%r11), %rcx
	jmp	hook_pair_at
hook_fault_pair:
	movq	$-1, %rcx
	jmp	hook_pair_end
hook_pair_at:
	movq	(%rcx), %rcx
hook_pair_end:
	movq	%rcx, R_ARG+16(%r11)
	movl	%ecx, %eax		/* the first of both is asked for */
8:	movl	%eax, CTL(C_STEP)
	movl	CTL(C_STATX), %esi
	testl	%esi, %esi
	jz	3f
	testl	$ASK_LATER, %esi
	jnz	hook_late
5:	movl	CTL(C_STEP), %edi
	ask	hook_stat_sys
	movq	R_ARG(%r11), %rdi
	movq	R_ARG+24(%r11), %r10
	movq	CTL(C_R8), %r8
3:	movq	R_ARG+8(%r11), %rsi
	movq	R_NEW_LEN(%r11), %rcx
	leaq	R_NEW_PATH+1+63(%rcx), %rcx
	andq	$-64, %rcx
	movq	%rcx, CTL(C_STEP)
4:	restore_flags
	movl	$REC_ENDED, R_STATE(%r11)
	movq	CTL(C_HEAD), %rcx
	movq	CTL(C_STEP), %rdx
	leaq	(%rcx,%rdx), %rcx
	movq	%rcx, CTL(C_HEAD)
hook_new_end:
	jmp	hook_done

/* What is neither cut nor appended to, so that its size matters, need not be asked at
 * once. */
hook_late:
	movl	R_NR(%r11), %ecx
	movzbl	SHAPES_AT(%rcx), %ecx
	cmpl	$SHAPE_OPEN1, %ecx
	ja	5b
	movl	R_ARG+16(%r11), %edx
	je	6f
	cmpl	$2, R_NR(%r11)		/* open(2), not creat(2) */
	jne	5b
	movl	R_ARG+8(%r11), %edx
6:	testl	$0x600, %edx		/* O_TRUNC, O_APPEND */
	jnz	5b
	movq	R_ARG+8(%r11), %rsi
	movq	R_NEW_LEN(%r11), %rdx
	leaq	R_NEW_PATH+1+63(%rdx), %rdx
	andq	$-64, %rdx
	addq	CTL(C_HEAD), %rdx
	restore_flags
	movl	$REC_OWING, R_STATE(%r11)
	movq	%rdx, CTL(C_OWED)
hook_late_end:
	jmp	hook_done
hook_fault_path:
	xorl	%ecx, %ecx
	jmp	new_path_done
hook_end:

	.org	hook_code + 0x1000, 0xcc	/* it fits a page, or does not assemble */

/*
 * Run once in each address space, by the tracer's setting of the registers; it puts all
 * of them back afterwards. r13: bytes of slots; r14, r15: address and length of stubs.
 * Each part ends with a call that stops whatever filter there is, which tells the tracer;
 * where there is none, with a breakpoint.
 */
.macro trap label
	xorl	%eax, %eax		/* read(-1) */
	movl	$-1, %edi
	syscall
\label:
	int3
.endm

	.globl setup_code, setup_named, setup_trap, setup_barrier, setup_barrier_trap
	.globl setup_map, setup_map_trap, setup_unmap, setup_unmap_trap, setup_shut
	.globl setup_ring_code, setup_ring_trap
	.globl setup_shut_trap, setup_start, setup_start_shut, setup_start_end
	.globl setup_exec, setup_exec_trap, setup_filter, setup_filter_trap, setup_orphan, setup_end

setup_code:
	movl	$NAME_AT, %edi
setup_named:
	movl	$319, %eax		/* memfd_create(rdi, MFD_CLOEXEC|MFD_ALLOW_SEALING) */
	movl	$3, %esi
	syscall
	movq	%rax, %r12
	movl	$9, %eax		/* mmap(SLOTS_AT, r13, PROT_READ|PROT_WRITE, ... */
	movl	$SLOTS_AT, %edi
	movq	%r13, %rsi
	movl	$3, %edx
	movl	$0x104001, %r10d	/* MAP_SHARED|MAP_NORESERVE|MAP_FIXED_NOREPLACE */
	movq	%r12, %r8
	xorl	%r9d, %r9d
	syscall
	movq	%rax, %rbx
	movl	$28, %eax		/* madvise(WINDOW_AT, with r13, MADV_DONTDUMP) */
	movl	$WINDOW_AT, %edi
	leaq	SLOTS_AT-WINDOW_AT(%r13), %rsi
	movl	$16, %edx
	syscall
	cmpw	$0, SEAL_AT
	je	1f
	movl	$317, %eax		/* seccomp(SECCOMP_SET_MODE_FILTER, SPEC_ALLOW, ... */
	movl	$1, %edi
	movl	$4, %esi
	movl	$SEAL_AT, %edx
	syscall
	movq	%rax, %r13
1:	movl	$324, %eax		/* membarrier(rbp) */
	movl	%ebp, %edi
	xorl	%esi, %esi
	xorl	%edx, %edx
	syscall
	movq	%rax, %rbp
	movl	$9, %eax		/* mmap(r14, r15, PROT_READ|PROT_EXEC, ... */
	movq	%r14, %rdi
	movq	%r15, %rsi
	movl	$5, %edx
	movl	$0x100022, %r10d	/* MAP_PRIVATE|MAP_ANONYMOUS|MAP_FIXED_NOREPLACE */
	movq	$-1, %r8
	xorl	%r9d, %r9d
	syscall
	movq	%rax, %r15
	movl	$28, %eax		/* madvise(r14, r15 as it was, MADV_DONTDUMP) */
	movl	$16, %edx
	syscall
	trap	setup_trap

setup_barrier:
	movl	$324, %eax		/* membarrier(r13) */
	movl	%r13d, %edi
	xorl	%esi, %esi
	xorl	%edx, %edx
	syscall
	movq	%rax, %rbx
	trap	setup_barrier_trap

setup_map:
	movl	$9, %eax		/* mmap(r14, r15, PROT_READ|PROT_EXEC, ... */
	movq	%r14, %rdi
	movq	%r15, %rsi
	movl	$5, %edx
	movl	$0x100022, %r10d
	movq	$-1, %r8
	xorl	%r9d, %r9d
	syscall
	movq	%rax, %rbx
	movl	$28, %eax		/* madvise(r14, r15, MADV_DONTDUMP) */
	movl	$16, %edx
	syscall
	trap	setup_map_trap

setup_unmap:
	movl	$11, %eax		/* munmap(r14, r15) */
	movq	%r14, %rdi
	movq	%r15, %rsi
	syscall
	movq	%rax, %rbx
	trap	setup_unmap_trap

/* r12: the descriptor of a ring; r13, r14, r15: bytes of its parts. To rbx, rbp, r12. */
.macro part size, from, to
	movl	$9, %eax		/* mmap(NULL, size, PROT_READ, MAP_SHARED|MAP_POPULATE, r12, from) */
	xorl	%edi, %edi
	movq	\size, %rsi
	movl	$1, %edx
	movl	$0x8001, %r10d
	movq	%r12, %r8
	movl	$\from, %r9d
	syscall
	movq	%rax, \to
	movl	$28, %eax		/* madvise(at, size, MADV_DONTFORK) */
	movq	\to, %rdi
	movq	\size, %rsi
	movl	$10, %edx
	syscall
.endm

setup_ring_code:
	part	%r13, 0, %rbx
	testq	%r14, %r14
	jz	1f
	part	%r14, 0x8000000, %rbp	/* IORING_OFF_CQ_RING */
1:	part	%r15, 0x10000000, %r12	/* IORING_OFF_SQES */
	trap	setup_ring_trap

.macro shut
	movl	$3, %eax		/* close(r12) */
	movl	%r12d, %edi
	syscall
.endm

.macro populate
	movl	$28, %eax		/* madvise(SLOTS_AT, ..., MADV_POPULATE_WRITE), where that is */
	movl	$SLOTS_AT, %edi
	movl	$RING_FROM+FIRST_USED, %esi
	movl	$23, %edx
	syscall
.endm

setup_shut:
	shut
	populate
	trap	setup_shut_trap

/* A new program: to its first instruction, with registers and flags as the kernel has
   them there. */
setup_start:
	shut
setup_start_shut:
	populate
	xorl	%ecx, %ecx
	xorl	%edx, %edx
	xorl	%esi, %esi
	xorl	%edi, %edi
	xorl	%r11d, %r11d
	xorl	%r12d, %r12d
	movl	$0x200, %eax
	sahf
	movl	$0, %eax
	jmpq	*START_AT
setup_start_end:

/* r12: SECCOMP_FILTER_FLAG_*; ebp: whether new privileges are to stay possible; r13, r14:
   what came of the first program and the second. */
setup_filter:
	movl	%ebp, %ebx
	xorl	%r13d, %r13d
	xorl	%r14d, %r14d
	cmpw	$0, FILTER_AT
	je	2f
1:	movl	$317, %eax		/* seccomp(SECCOMP_SET_MODE_FILTER, r12, FILTER_AT) */
	movl	$1, %edi
	movl	%r12d, %esi
	movl	$FILTER_AT, %edx
	syscall
	movq	%rax, %r13
	cmpq	$-13, %rax		/* EACCES: no new privileges, then, but once */
	jne	2f
	testl	%ebx, %ebx
	jnz	3f
	movl	$1, %ebx
	movl	$157, %eax		/* prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) */
	movl	$38, %edi
	movl	$1, %esi
	xorl	%edx, %edx
	xorl	%r10d, %r10d
	xorl	%r8d, %r8d
	syscall
	jmp	1b
2:	testq	%r13, %r13
	jnz	3f
	cmpw	$0, SEAL_AT
	je	3f
	movl	$317, %eax
	movl	$1, %edi
	movl	%r12d, %esi
	movl	$SEAL_AT, %edx
	syscall
	movq	%rax, %r14
3:	trap	setup_filter_trap

/* An exec, in the registers of the program: who comes back from it has not run it. */
setup_exec:
	syscall
setup_exec_trap:
	int3

/*
 * The handler of SIGSYS while calls are dispatched. The tracer keeps the signal from it,
 * so there is none any more: nothing is to be dispatched from now on, and the call is
 * made again. A signal that somebody has sent does what it does without a handler.
 */
setup_orphan:
	movq	%rdx, %rbx
	movq	%rsi, %r12
	cmpl	$2, 8(%rsi)		/* si_code: SYS_USER_DISPATCH */
	jne	1f
	movl	$157, %eax		/* prctl(PR_SET_SYSCALL_USER_DISPATCH, OFF, 0, 0, 0) */
	movl	$59, %edi
	xorl	%esi, %esi
	xorl	%edx, %edx
	xorl	%r10d, %r10d
	xorl	%r8d, %r8d
	syscall
	movl	$0, GUARD_AT
	movq	16(%r12), %rax		/* si_call_addr, behind the call */
	subq	$2, %rax
	movq	%rax, 168(%rbx)		/* uc_mcontext.gregs[REG_RIP] */
	movl	24(%r12), %eax		/* si_syscall */
	movq	%rax, 144(%rbx)		/* REG_RAX */
	jmp	2f
1:	cmpq	$1, OWN_AT		/* SIG_IGN: others may still need the handler */
	je	2f
	ja	3f
	movl	$13, %eax		/* rt_sigaction(SIGSYS, OWN_AT, NULL, 8) */
	movl	$31, %edi
	movl	$OWN_AT, %esi
	xorl	%edx, %edx
	movl	$8, %r10d
	syscall
	movl	$39, %eax		/* kill(getpid(), SIGSYS) */
	syscall
	movl	%eax, %edi
	movl	$31, %esi
	movl	$62, %eax
	syscall
2:	addq	$8, %rsp		/* rt_sigreturn() */
	movl	$15, %eax
	syscall
	hlt
3:	jmpq	*OWN_AT			/* the program's own, which is for all of those */
/*
 * More of the hook: Linux AIO. A context is known by a key made of its address and the
 * process: then rcx is where.
 */
.macro context wrong
	movq	%rdi, %rdx
	xorq	CTL(C_SALT), %rdx
	imulq	$AIO_SPREAD, %rdx, %rcx
	shrq	$AIO_SHIFT, %rcx
	andl	$AIO_MASK, %ecx
	addq	$AIO_AT, %rcx
	cmpq	%rdx, (%rcx)
	je	81f
	addq	$AIO_WORD, %rcx
	cmpq	%rdx, (%rcx)
	jne	\wrong
81:
.endm

/*
 * What has been answered in the ring of the context in rdi and is not known yet, as a
 * record of its own; then back to where C_BUF says, with how many in r10d, -1 where that
 * cannot be. Several may look at a time: it is theirs who say first how far they have
 * come. Clobbers all but rdi and r9.
 */
hook_look:
	context	hook_look_gone
	movq	%rcx, %r8
	movq	CTL(C_HEAD), %rcx
	cmpq	CTL(C_LIMIT), %rcx
	jae	hook_look_gone
	andl	CTL(C_MASK), %ecx
	movq	CTL(C_RING), %r11
	addq	%rcx, %r11
	movl	$REC_NONE, R_STATE(%r11)
	movq	8(%r8), %rax
	movq	%rax, CTL(C_STEP)
	movl	%eax, %ecx
	andl	$AIO_FIELD, %ecx
	leaq	R_AIO_FROM(%r11), %rsi
	xorl	%r10d, %r10d
hook_look_at:
1:	cmpl	12(%rdi), %ecx		/* struct aio_ring: tail; nr; struct io_event: obj, res */
	je	2f
	cmpl	$EVENTS_MOST, %r10d
	je	2f
	movl	%ecx, %edx
	shlq	$5, %rdx
	movq	40(%rdi,%rdx), %rax
	movq	%rax, (%rsi)
	movq	48(%rdi,%rdx), %rax
	movq	%rax, 8(%rsi)
	addq	$EVENT_SIZE, %rsi
	incl	%r10d
	incl	%ecx
	cmpl	4(%rdi), %ecx
	jb	1b
	xorl	%ecx, %ecx
	jmp	1b
hook_look_end:
2:	testl	%r10d, %r10d
	jz	3f
	movl	%r10d, R_AIO_N(%r11)
	movq	%rdi, R_ARG(%r11)
	movl	$208, R_NR(%r11)
	xorl	%eax, %eax
	movq	%rax, R_RESULT(%r11)
	rdtsc
	movl	%eax, R_T0(%r11)
	movl	%edx, R_T0+4(%r11)
	movl	%eax, R_T1(%r11)
	movl	%edx, R_T1+4(%r11)
	subq	%r11, %rsi
	addq	$63, %rsi
	andq	$-64, %rsi
	addq	CTL(C_HEAD), %rsi
	movq	CTL(C_STEP), %rdx
	movq	%rdx, %rax
	shrq	$48, %rdx
	movl	%edx, R_AIO_TURN(%r11)
	incl	%edx
	shlq	$48, %rdx
	shrq	$24, %rax
	andl	$AIO_FIELD, %eax
	subl	%r10d, %eax
	jnc	4f
	xorl	%eax, %eax		/* asked for before we came */
4:	shlq	$24, %rax
	orq	%rcx, %rdx
	orq	%rax, %rdx
	movq	CTL(C_STEP), %rax
	lock cmpxchgq %rdx, 8(%r8)
hook_look_taken:
	jne	hook_look
	movl	$REC_ENDED, R_STATE(%r11)
	movq	%rsi, CTL(C_HEAD)
hook_look_told:
3:	jmp	*CTL(C_BUF)
hook_look_gone:
	movl	$-1, %r10d
	jmp	3b

/*
 * io_submit(2): whatever has been answered by now is to be known before more is asked
 * for, as the kernel may come around to where it is; and no more is asked for, by all
 * tasks, than the ring has room for, until that has been answered and seen.
 */
hook_submit:
	movq	%rdi, CTL(C_RDI)
	movq	%r8, CTL(C_R8)
	movq	%r10, CTL(C_R10)
hook_submit_saved:
	leaq	1f(%rip), %rcx
	movq	%rcx, CTL(C_BUF)
	jmp	hook_look
1:	testl	%r10d, %r10d
	js	hook_submit_pass
	jz	2f
	movq	CTL(C_RAX), %rdx
	leaq	hook_paid(%rip), %rcx	/* once more */
	jmp	hook_submit_back
2:	movl	$209, R_NR(%r11)
	movq	CTL(C_RSI), %rsi
	cmpq	$IOCBS_MOST, %rsi
	ja	hook_submit_pass
	movl	%esi, R_AIO_N(%r11)
	movq	CTL(C_RDX), %rcx
	cmpq	$LOWEST, %rcx
	jl	hook_submit_pass
	movq	%r8, CTL(C_BUF)
	leaq	R_AIO_FROM(%r11), %rdi
hook_iocb_at:
3:	decl	%esi
	js	6f
	movq	(%rcx), %rax
	cmpq	$LOWEST, %rax
	jl	hook_submit_pass
	movq	%rax, (%rdi)
	movq	16(%rax), %rdx		/* aio_lio_opcode, aio_reqprio, aio_fildes */
	movq	%rdx, 8(%rdi)
	movl	12(%rax), %r10d		/* aio_rw_flags, in place of the priority */
	movw	%r10w, 10(%rdi)
	movq	32(%rax), %r10		/* aio_nbytes */
	movq	%r10, 16(%rdi)
	movq	40(%rax), %r8		/* aio_offset */
	movq	%r8, 24(%rdi)
	movzwl	%dx, %edx
	subl	$7, %edx
	jb	5f
	cmpl	$1, %edx		/* IOCB_CMD_PREADV, _PWRITEV */
	ja	hook_submit_pass
	movq	24(%rax), %rax		/* aio_buf */
	movq	$0, 16(%rdi)
	cmpq	$LOWEST, %rax
	jl	5f
	cmpq	$1024, %r10		/* IOV_MAX */
	ja	5f
	testl	%r10d, %r10d
	jz	5f
4:	movq	8(%rax), %r8
	addq	%r8, 16(%rdi)
	addq	$16, %rax
	decl	%r10d
	jnz	4b
hook_iocb_end:
5:	addq	$IOCB_SIZE, %rdi
	addq	$8, %rcx
	jmp	3b
6:	subq	%r11, %rdi
	addq	$63, %rdi
	andq	$-64, %rdi
	movq	%rdi, CTL(C_STEP)
	movq	CTL(C_BUF), %r8
	movq	CTL(C_RDI), %rsi
	movl	R_AIO_N(%r11), %ecx
hook_room_at:
	movl	4(%rsi), %esi		/* struct aio_ring: nr */
hook_room_end:
7:	movq	8(%r8), %rax
	movq	%rax, %rdx
	shrq	$24, %rdx
	andl	$AIO_FIELD, %edx
	addl	%ecx, %edx
	cmpl	%esi, %edx
	jae	hook_submit_pass
	movq	%rcx, %rdx
	shlq	$24, %rdx
	addq	%rax, %rdx
	lock cmpxchgq %rdx, 8(%r8)
	jne	7b
hook_submit_added:
	leaq	hook_go(%rip), %rcx
hook_submit_back:
	movq	CTL(C_RDI), %rdi
	movq	CTL(C_RSI), %rsi
	movq	CTL(C_R8), %r8
	movq	CTL(C_R10), %r10
	jmp	*%rcx
hook_submit_pass:
	leaq	hook_pass(%rip), %rcx
	jmp	hook_submit_back
hook_submit_end:

/* io_getevents(2): as hook_wait, and what is answered by its end. */
hook_events:
	context	hook_pass
	rdtsc
	shlq	$32, %rdx
	orq	%rax, %rdx
	movq	%rdx, CTL(C_BEGAN)
	restore_flags
	movq	CTL(C_RAX), %rax
	movq	CTL(C_RDX), %rdx
hook_events_sys:
	syscall
hook_events_post:
	leaq	4(%rax), %rcx		/* EINTR */
	jrcxz	1f
	jmp	2f
1:	movq	CTL(C_GUARD), %rcx
	movzwl	(%rcx), %ecx
	jrcxz	2f
	movq	CTL(C_RAX), %rax
hook_events_again:
	jmp	hook_free_again
hook_events_made:	/* what it waits for may have been put back: again.c */
2:	movq	%rdi, CTL(C_RDI)
	movq	%rsi, CTL(C_RSI)
	movq	%r8, CTL(C_R8)
	movq	%r10, CTL(C_R10)
	movq	%r11, CTL(C_R11)
	movq	%rax, CTL(C_RESULT)
hook_events_kept:
	leaq	2f(%rip), %rcx
	movq	%rcx, CTL(C_BUF)
	jmp	hook_look
2:	cmpl	$EVENTS_MOST, %r10d
	je	hook_events_kept
	leaq	3f(%rip), %rcx
	jmp	hook_submit_back
3:	restore_flags
	movq	CTL(C_RESULT), %rax
	movq	CTL(C_RDX), %rdx
	movq	CTL(C_R11), %r11
	movq	CTL(C_RET), %rcx
	jmp	*%rcx
hook_events_end:

/*
 * A child: its gs leads to the slot of its parent, until its first stop. It shares nothing,
 * or is a thread like any other, and not the first: SHAPES_AT of clone3(2) says so.
 */
hook_child:
	movq	%rdi, %rcx
	movl	CTL(C_RAX), %edx
	cmpl	$57, %edx
	je	hook_began		/* fork(2) */
	jb	1f
	cmpq	$LOWEST, %rdi
	jl	hook_pass
hook_child_at:
	movq	(%rdi), %rcx		/* struct clone_args: flags */
hook_child_end:
	jmp	2f
1:	testq	$~CHILD_MAY, %rcx
	jz	hook_began
2:	andq	$~THREAD_MAY, %rcx
	cmpq	$THREAD_MUST, %rcx
	jne	hook_pass
	cmpb	$SHAPE_CHILD, SHAPES_AT+435
	jne	hook_pass
hook_thread:	/* not as what is free: a filter of ours would make it stop there */
	restore_flags
	movq	CTL(C_RAX), %rax
	movq	CTL(C_RDX), %rdx
hook_thread_sys:
	syscall
hook_thread_post:
	movq	CTL(C_RET), %rcx
	jmp	*%rcx
hook_thread_end:

/*
 * More of the hook: recvmsg(2) with room for control data. It goes the way of others, but
 * comes here in place of the way back, with all as the program is to find it. Where
 * descriptors have come they are to be asked for before anybody can close them: the task
 * stops, at a call that nothing comes of, and goes on as if it had been this one.
 */
hook_message:
	cmpl	$RIGHTS_MAY, CTL(C_RIGHTS)
	jne	1f
	movq	CTL(C_RET), %rax
	movq	%rax, CTL(C_BACK)
	leaq	hook_control(%rip), %rax
	movq	%rax, CTL(C_RET)
	jmp	hook_sum_go
1:	movq	CTL(C_RSI), %rsi
	jmp	hook_pass
hook_control:
	movq	%rax, CTL(C_RESULT)
hook_control_kept:
	testq	%rax, %rax
	js	hook_control_out
	cmpq	$LOWEST, %rsi
	jl	hook_control_out
hook_control_at:
	movq	32(%rsi), %rcx		/* msg_control, msg_controllen */
	movq	40(%rsi), %rdx
	addq	%rcx, %rdx
1:	cmpq	$LOWEST, %rcx
	jl	hook_control_out
	leaq	16(%rcx), %r11
	cmpq	%rdx, %r11
	ja	hook_control_out
	movabsq	$0x100000001, %rax	/* SOL_SOCKET, SCM_RIGHTS */
	cmpq	%rax, 8(%rcx)
	je	2f
	movq	(%rcx), %rax		/* cmsg_len */
hook_control_end:
	cmpq	$16, %rax
	jb	hook_control_out
	movq	%rdx, %r11
	subq	%rcx, %r11
	cmpq	%r11, %rax
	ja	hook_control_out
	addq	$7, %rax
	andq	$-8, %rax
	addq	%rax, %rcx
	jnc	1b
hook_control_out:
	restore_flags
	movq	CTL(C_RESULT), %rax
	movq	CTL(C_RDX), %rdx
	movq	CTL(C_R11), %r11
	movq	CTL(C_BACK), %rcx
	jmp	*%rcx
2:	cmpl	$RIGHTS_MAY, CTL(C_RIGHTS)
	jne	hook_control_out	/* a filter has come meanwhile: asked for when used */
	movq	%rdi, CTL(C_RDI)
	restore_flags
	movq	CTL(C_RDX), %rdx
	movq	CTL(C_R11), %r11
	movl	$RIGHTS_DUE, CTL(C_RIGHTS)
	movq	$-1, %rdi
	movl	$47, %eax
	movq	CTL(C_BACK), %rcx
	leaq	-2(%rcx), %rcx
	jmp	*%rcx
hook_control_over:
setup_end:
#endif
	.section .note.GNU-stack,"",@progbits
