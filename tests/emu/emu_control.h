/* emu_control.h - control and counters of the emulated machine and runtime, for tests.  C and C++.
 *
 * The environment sets the defaults: EMU_ORDER, EMU_SEED, EMU_MMA (emu.h); EMU_DEVICES=n,
 * EMU_MEMORY=bytes, EMU_FAIL=n:code, EMU_LAZY=1, EMU_LEAKS=1 (cudart.cpp). */
#ifndef EMU_CONTROL_H
#define EMU_CONTROL_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum emu_order { EMU_RANDOM = 0, EMU_UP = 1, EMU_DOWN = -1 };
enum emu_counter {
	EMU_LOADED,    /* bytes of load16 and copy_async16 */
	EMU_LDMATRIX,  /* 8 x 8 matrices */
	EMU_CONFLICTS, /* bank conflicts of these: cycles beyond one per matrix */
	EMU_MMA,
	EMU_DP4A,
	EMU_BARRIERS, /* arrivals of threads */
	EMU_SWITCHES, /* between fibres */
	EMU_STARTED,  /* threads started */
	EMU_FETCHED,  /* bytes copied from a device to the host */
	EMU_COUNTERS
};
/* Set the order of threads and blocks; seed is used by EMU_RANDOM. */
void emu_set_order(enum emu_order order, uint64_t seed);
/* Truncate the terms of float mma (1), or add them in double (0). */
void emu_set_mma(int cut);
/* Returns the sum of a counter since emu_reset. */
long long emu_counter(enum emu_counter c);

/* Fail the nth counted call from now (1: the next) with the code, a cudaError_t; n 0: fail none.
 * Runtime calls and launches count, except cudaGetLastError, cudaPeekAtLastError, cudaGetErrorName
 * and cudaGetErrorString.  After an error of the device (cudaErrorIllegalAddress, ...) every call
 * fails with it until emu_reset. */
void emu_fail_at(long long n, int code);
/* Returns the number of counted calls since emu_reset. */
long long emu_calls(void);
/* Returns the kernels launched since emu_reset, those in graphs included. */
long long emu_kernels(void);
/* Returns bytes of device and pinned memory not freed yet. */
size_t emu_live_bytes(void);
/* Returns streams, events, graphs and executable graphs not destroyed yet. */
long emu_live_objects(void);
/* Returns how often memory was freed that pending work may use (EMU_LAZY=1). */
long emu_freed_in_use(void);
/* Forget errors, the planned failure and all counters.  Memory and objects stay. */
void emu_reset(void);
/* Set the number of devices; 0: cudaErrorNoDevice, -1: cudaErrorInsufficientDriver. */
void emu_set_devices(int n);
/* Set the memory of each device. */
void emu_set_memory(size_t bytes);
/* Run the work of streams when something waits for it (1), or at once (0). */
void emu_set_lazy(int lazy);
#ifdef __cplusplus
}
#endif
#endif
