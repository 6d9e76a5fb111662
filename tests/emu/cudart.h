/* cudart.h (private) - the emulated runtime: its state and what its files share.
 *
 *   cudart.cpp          calls, errors, operations of streams, launches, emu_control.h
 *   cudart_memory.cpp   devices and memory
 *   cudart_stream.cpp   streams, events, graphs
 *
 * Every public call holds struct guard, then begin_call; it returns finish_call(result). */
#ifndef EMU_CUDART_H
#define EMU_CUDART_H
#include "machine.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DEVICES = 16, ALIGN = 256, THREADS_MOST = 1024, SHARED_OPTIN = 227 << 10 };
enum kind { OP_KERNEL, OP_COPY, OP_SET, OP_HOST, OP_RECORD, OP_WAIT };
struct op {
	op *next;
	enum kind kind;
	dim3 grid, block;
	size_t n; /* bytes of dynamic shared memory, to copy or to set */
	void (*call)(void *);
	void *to;
	const void *from;
	int value;
	cudaEvent_t event;
	long long version; /* of the event */
	void *data;        /* owned: arguments of a kernel, staged source of a copy; or NULL */
	size_t data_size;
};
struct op_list {
	op *first, *last;
	long n;
};
struct CUgraph_st {
	cudaGraph_t next;
	op_list ops;
};
struct CUgraphExec_st {
	cudaGraphExec_t next;
	op_list ops;
};
struct capture { /* from cudaStreamBeginCapture to cudaStreamEndCapture */
	capture *next;
	op_list ops;
	cudaStream_t origin;
	enum cudaStreamCaptureMode mode;
	pthread_t thread;
	int invalid;
};
struct CUstream_st {
	cudaStream_t next;
	int device, blocking;
	op_list ops;
	capture *cap;
	long cap_added;  /* operations added to the capture */
	long cap_joined; /* of these, joined by another stream */
};
struct CUevent_st {
	cudaEvent_t next;
	int refs, timing;
	long long version, done; /* of the last record; of the last one executed */
	struct timespec at;
	cudaStream_t stream;
	capture *cap; /* recorded in this capture */
	long cap_at;
};
struct block { /* of memory */
	block *next;
	char *p;
	size_t n;
	int device; /* -1: pinned */
};
struct runtime {
	pthread_mutex_t lock;
	int set_up, devices, lazy, in_host_fn;
	size_t memory, used[DEVICES], pinned;
	long long calls, fail_at, kernels;
	long n_freed_in_use;
	cudaError_t fail_code, sticky;
	block *blocks;
	cudaStream_t streams;
	cudaEvent_t events;
	cudaGraph_t graphs;
	cudaGraphExec_t execs;
	capture *captures;
	CUstream_st null_streams[DEVICES];
};
extern runtime rt;
extern __thread int current_device;
extern __thread cudaError_t last_error;

/* Lock the runtime for the life of the object.  The first one reads the environment. */
struct guard {
	guard();
	~guard() { pthread_mutex_unlock(&rt.lock); }
};
enum { NEEDS_DEVICE = 1, UNSAFE = 2 /* in a capture */ };
/* Count a call.  Returns its planned failure, or the reason why it must fail. */
cudaError_t begin_call(int flags);
/* Record the result of a call for cudaGetLastError, and return it. */
cudaError_t finish_call(cudaError_t rc);
/* Invalidate the captures that forbid unsafe calls of this thread.  Returns 1 if there are any. */
int break_captures(void);

/* Append a copy of o; its data is copied too. */
void add_op(op_list *l, const op *o);
void free_ops(op_list *l);
/* Drop a reference to an event. */
void release_event(cudaEvent_t e);
/* Returns NULL if the handle is not valid. */
cudaStream_t find_stream(cudaStream_t s);
/* Add o to a stream, or to the graph that the stream captures. */
cudaError_t submit_op(cudaStream_t handle, const op *o);
/* Execute an operation. */
void run_op(const op *o);
/* Run the first operation of a stream; all of them; those up to a record of an event. */
void run_first(cudaStream_t s);
void run_all(cudaStream_t s);
void run_until(cudaStream_t s, cudaEvent_t e, long long version);
/* Run all operations of a device's streams, or of the blocking ones. */
void run_device(int device, int blocking_only);
#endif
