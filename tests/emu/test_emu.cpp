/* test_emu.cpp - mistakes that the emulated machine detects; test_emu_ops.cpp tests its results
 *
 * Mistakes that abort run in a child process; its message is checked. */
#include "backend/cuda/gpu.h"
#include "gpu_test.h"
#include <sys/wait.h>
#include <unistd.h>
#ifdef EMU_ASAN
enum { ASAN = 1 };
#else
enum { ASAN = 0 };
#endif
#ifdef EMU_TSAN
enum { TSAN = 1 };
#else
enum { TSAN = 0 };
#endif
enum { WARP = 32, ORDERS = 5, TSAN_EXIT = 66 };

static void set_order(int i)
{
	static const emu_order order[ORDERS] = { EMU_UP, EMU_DOWN, EMU_RANDOM, EMU_RANDOM,
		                                 EMU_RANDOM };

	emu_set_order(order[i], (uint64_t)i);
}

/* ---- mistakes that end the run ---- */

/* Run in a child; *status as of waitpid.  Returns what it wrote to stderr. */
static const char *run_child(void (*body)(void), int *status)
{
	static char said[1 << 16];
	size_t n = 0;
	int fd[2];

	fflush(NULL);
	if (pipe(fd))
		abort();
	pid_t pid = fork();
	if (!pid) {
		dup2(fd[1], 2);
		close(fd[0]);
		close(fd[1]);
		body();
		cudaDeviceSynchronize();
		exit(0);
	}
	close(fd[1]);
	for (ssize_t got; (got = read(fd[0], said + n, sizeof said - 1 - n)) > 0;)
		n += (size_t)got;
	said[n] = 0;
	close(fd[0]);
	waitpid(pid, status, 0);
	return said;
}
static void expect_death_at(void (*body)(void), const char *words, int line)
{
	int status;
	const char *said = run_child(body, &status);

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		fail("line %d: not detected, must be: %s", line, words);
	else if (!strstr(said, words))
		fail("line %d: the message is \"%.300s\", must contain: %s", line, said, words);
}
#define expect_death(body, words) expect_death_at([] { body; }, words, __LINE__)

__global__ void no_wait(int n)
{
	if ((int)threadIdx.x != n)
		gpu_wait();
}
__global__ void lanes_diverge(int n)
{
	gpu_wait();
	if ((int)threadIdx.x < n)
		__shfl_xor_sync(~0u, 1, 1);
}
__global__ void lanes_differ(void)
{
	gpu_wait();
	if (threadIdx.x % 2)
		__syncwarp();
	else
		__ballot_sync(~0u, 1);
}
__global__ void lane_left_out(void)
{
	gpu_wait();
	__syncwarp(0xffff);
}
__global__ void barrier_in_branch(void)
{
	gpu_wait();
	if (threadIdx.x < 32)
		__syncthreads();
	else
		__syncthreads_or(1);
}
__global__ void warp_and_barrier(void)
{
	gpu_wait();
	if (threadIdx.x == 3)
		__syncthreads();
	else
		__syncwarp();
}
__global__ void write_outside(int at)
{
	SHARED(int, tile, [40]);

	gpu_wait();
	((volatile int *)tile)[at] = 1;
}
__global__ void too_much_static(void)
{
	SHARED(int, tile, [20000]);

	gpu_wait();
	tile[0] = 1;
}
__global__ void too_much_both(void)
{
	SHARED(int, tile, [1024]);

	gpu_wait();
	tile[0] = 1;
}
__global__ void copy_not_awaited(const int *x)
{
	SHARED(int, tile, [4]);

	gpu_wait();
	copy_async16(tile, x, 16);
	copy_commit();
}
__global__ void copy_misaligned(const char *x)
{
	SHARED(int, tile, [8]);

	gpu_wait();
	copy_async16(tile, x + 4, 16);
	copy_wait<0>();
}
__global__ void copy_outwards(int *x)
{
	SHARED(int, tile, [8]);

	gpu_wait();
	copy_async16(x, tile, 16);
	copy_wait<0>();
}
__global__ void matrix_not_shared(const int *x)
{
	uint32_t r[4];

	gpu_wait();
	ldmatrix4(r, x);
}
__global__ void load_misaligned(const char *x)
{
	gpu_wait();
	load16(x + 8);
}
__global__ void dig_deep(int n)
{
	volatile char hole[6 << 10];

	gpu_wait();
	for (int i = 0; i < (int)sizeof hole; i += 64)
		hole[i] = (char)n;
	if (n)
		dig_deep(n - 1);
	hole[1] = hole[n];
}
static void test_run_ends_by_name(void)
{
	static int data[64];

	set_order(0); /* the messages name the first thread that cannot go on */
	expect_death(LAUNCH(no_wait, 1, 64, 0, 0, 5), "kernel did not wait, block 0 0 0, thread 5");
	expect_death(
		LAUNCH(lanes_diverge, 1, 32, 0, 0, 24),
		"not all threads reach this operation, block 0 0 0, thread 0, in __shfl_xor_sync");
	expect_death(LAUNCH(lanes_diverge, 1, 20, 0, 0, 32),
	             "the mask contains a lane that has ended");
	expect_death(LAUNCH(lanes_differ, 1, 32, 0, 0),
	             "lanes of a warp are in different operations");
	expect_death(LAUNCH(lane_left_out, 1, 32, 0, 0),
	             "the mask does not contain the calling lane");
	expect_death(LAUNCH(barrier_in_branch, 1, 64, 0, 0),
	             "threads of a block are in different barriers");
	expect_death(LAUNCH(warp_and_barrier, 1, 64, 0, 0), "not all threads reach this operation");
	expect_death(LAUNCH(too_much_static, 1, 1, 0, 0), "too much shared memory");
	expect_death(LAUNCH(too_much_both, 1, 1, 225 << 10, 0), "too much shared memory");
	expect_death(LAUNCH(copy_not_awaited, 1, 1, 0, 0, data),
	             "a thread ended before its cp.async");
	expect_death(LAUNCH(copy_misaligned, 1, 1, 0, 0, (char *)data), "not aligned to 16 bytes");
	expect_death(LAUNCH(copy_outwards, 1, 1, 0, 0, data), "not from global to shared");
	expect_death(LAUNCH(matrix_not_shared, 1, 32, 0, 0, data),
	             "ldmatrix: a row is not in shared");
	expect_death(LAUNCH(load_misaligned, 1, 1, 0, 0, (char *)data),
	             "load16: the address is not");
	expect_death(LAUNCH(dig_deep, 1, 8, 0, 0, 11), ""); /* a guard page */
	expect_death(LAUNCH(write_outside, 1, 1, 0, 0, 40),
	             ASAN ? "use-after-poison" : "outside of a shared");
	expect_death(LAUNCH(write_outside, 1, 1, 0, 0, -1),
	             ASAN ? "use-after-poison" : "outside of a shared");
}

/* ---- mistakes that change results ---- */

/* y[i] = x of the thread on the other side; without a barrier, of what was there before */
template <int BARRIER> __global__ void reverse(float *y, const float *x, int n)
{
	SHARED(float, tile, [128]);
	int t = (int)threadIdx.x;

	gpu_wait();
	tile[t] = x[t];
	if (BARRIER)
		__syncthreads();
	y[t] = tile[n - 1 - t];
}
/* sums of neighbours, twice through one tile; without the second barrier, values are overwritten */
template <int BARRIER> __global__ void shift_twice(float *y, const float *x, int n)
{
	SHARED(float, tile, [128]);
	int t = (int)threadIdx.x;
	float s = x[t];

	gpu_wait();
	for (int i = 0; i < 2; i++) {
		tile[t] = s;
		__syncthreads();
		s += tile[(t + 1) % n];
		if (BARRIER)
			__syncthreads();
	}
	y[t] = s;
}
template <class K>
static int count_wrong(K kernel, const float *want, float *y, const float *x, int n)
{
	int wrong = 0;

	for (int i = 0; i < ORDERS; i++) {
		set_order(i);
		memset(y, 0, (size_t)n * sizeof *y);
		expect_run(LAUNCH(kernel, 1, (unsigned)n, 0, stream(), y, x, n));
		wrong += memcmp(y, want, (size_t)n * sizeof *y) != 0;
	}
	set_order(0);
	return wrong;
}
static void test_missing_barrier_changes_bits(void)
{
	enum { N = 128 };
	float *x = host<float>(N), *y = host<float>(N), *want = host<float>(N);

	fill_uniform(x, N, 1);
	for (int i = 0; i < N; i++)
		want[i] = x[N - 1 - i];
	expect(count_wrong(reverse<1>, want, y, x, N) == 0, "reverse is wrong in an order");
	expect(TSAN || count_wrong(reverse<0>, want, y, x, N) == ORDERS,
	       "reverse needs no barrier");
	for (int i = 0; i < N; i++)
		want[i] = (x[i] + x[(i + 1) % N]) + (x[(i + 1) % N] + x[(i + 2) % N]);
	expect(count_wrong(shift_twice<1>, want, y, x, N) == 0, "shift_twice is wrong in an order");
	expect(TSAN || count_wrong(shift_twice<0>, want, y, x, N) > 0,
	       "shift_twice needs no second barrier");
}
/* y = x + 1, read before the kernel that writes x may have ended (EARLY), or after it */
template <int EARLY> __global__ void add_one(int *y, const int *x)
{
	int v = EARLY ? x[threadIdx.x] : 0;

	gpu_next();
	gpu_wait();
	y[threadIdx.x] = (EARLY ? v : x[threadIdx.x]) + 1;
}
template <class K> static void add_thrice(K kernel, int *x)
{
	memset(x, 0, 4 * 64 * sizeof *x);
	for (int i = 0; i < 3; i++)
		expect(!LAUNCH(kernel, 1, 64, 0, stream(), x + 64 * (i + 1), x + 64 * i),
		       "launch %d", i);
	expect_run(cudaStreamSynchronize(stream()));
}
static void test_reads_before_gpu_wait_are_stale(void)
{
	static int x[4 * 64];

	for (int i = 0; i < ORDERS; i++) {
		set_order(i);
		add_thrice(add_one<0>, x);
		expect(x[3 * 64] == 3 && x[4 * 64 - 1] == 3, "order %d: %d, %d", i, x[3 * 64],
		       x[4 * 64 - 1]);
		if (TSAN)
			continue;
		add_thrice(add_one<1>, x);
		expect(x[3 * 64] == 1 && x[4 * 64 - 1] == 1, "order %d, too early: %d", i,
		       x[3 * 64]);
	}
	set_order(0);
}
/* a sum in global memory: without fences the last block reads what no one has ordered */
template <int FENCE> __global__ void sum_blocks(float *part, unsigned *done, float *y)
{
	gpu_wait();
	part[blockIdx.x] = (float)blockIdx.x + 1;
	if (FENCE)
		__threadfence();
	if (atomicAdd(done, 1u) == gridDim.x - 1) {
		float s = 0;

		if (FENCE)
			__threadfence();
		for (unsigned i = 0; i < gridDim.x; i++)
			s += part[i];
		*y = s;
	}
}
template <int SYNC> __global__ void pass_in_warp(int *y)
{
	SHARED(int, tile, [WARP]);
	int t = (int)threadIdx.x;

	gpu_wait();
	tile[t] = t;
	if (SYNC)
		__syncwarp();
	y[t] = tile[t ^ 1];
}
static void expect_race(void (*body)(void), int want, const char *what)
{
	int status;
	const char *said = run_child(body, &status);
	int seen =
		WIFEXITED(status) && WEXITSTATUS(status) == TSAN_EXIT && strstr(said, "data race");

	expect(seen == want, "%s: %s a race: %.200s", what, seen ? "is" : "is not", said);
}
static void test_races_are_seen(void)
{
	static float x[128], y[128], part[8], sum;
	static unsigned done;
	static int z[WARP], chain[4 * 64];

	if (!TSAN)
		return;
	expect_race([] { LAUNCH(reverse<1>, 1, 128, 0, 0, y, x, 128); }, 0, "reverse");
	expect_race([] { LAUNCH(reverse<0>, 1, 128, 0, 0, y, x, 128); }, 1,
	            "reverse without a barrier");
	expect_race([] { LAUNCH(reverse<1>, 2, 128, 0, 0, y, y, 128); }, 1,
	            "blocks that share a result");
	expect_race([] { LAUNCH(shift_twice<1>, 1, 128, 0, 0, y, x, 128); }, 0, "shift_twice");
	expect_race([] { LAUNCH(shift_twice<0>, 1, 128, 0, 0, y, x, 128); }, 1,
	            "one barrier too few");
	expect_race([] { LAUNCH(pass_in_warp<1>, 1, WARP, 0, 0, z); }, 0, "pass_in_warp");
	expect_race([] { LAUNCH(pass_in_warp<0>, 1, WARP, 0, 0, z); }, 1, "no __syncwarp");
	expect_race([] { LAUNCH(sum_blocks<1>, 8, 1, 0, 0, part, &done, &sum); }, 0, "sum_blocks");
	expect_race([] { LAUNCH(sum_blocks<0>, 8, 1, 0, 0, part, &done, &sum); }, 1, "no fence");
	expect_race([] { add_thrice(add_one<0>, chain); }, 0, "add_one");
	expect_race([] { add_thrice(add_one<1>, chain); }, 1, "a read before gpu_wait");
}
/* y: the tile at first, after cp.async, after a wait for all but one group, and for all */
__global__ void copy_stages(uint32_t *y, const uint32_t *x)
{
	SHARED(uint32_t, tile, [12]);

	gpu_wait();
	y[0] = tile[0];
	copy_async16(tile, x, 16);
	copy_commit();
	copy_async16(tile + 4, x + 4, 8);
	copy_async16(tile + 8, x, 0);
	copy_commit();
	y[1] = tile[0];
	copy_wait<1>();
	for (int i = 0; i < 4; i++)
		y[2 + i] = tile[i];
	y[6] = tile[4];
	copy_wait<0>();
	for (int i = 0; i < 8; i++)
		y[7 + i] = tile[4 + i];
}
static void test_cp_async_lands_at_its_wait(void)
{
	static const uint32_t x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const uint32_t want[15] = { ~0u, ~0u, 1, 2, 3, 4, ~0u, 5, 6, 0, 0, 0, 0, 0, 0 };
	alignas(16) static uint32_t from[8];
	uint32_t y[15];

	memcpy(from, x, sizeof from);
	expect_run(LAUNCH(copy_stages, 1, 1, 0, stream(), y, from));
	for (int i = 0; i < 15; i++)
		expect(y[i] == want[i], "y[%d] is %#x, should be %#x", i, y[i], want[i]);
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_run_ends_by_name);
	RUN(test_missing_barrier_changes_bits);
	RUN(test_reads_before_gpu_wait_are_stale);
	RUN(test_races_are_seen);
	RUN(test_cp_async_lands_at_its_wait);
	return end_tests();
}
