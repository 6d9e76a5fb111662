/* tests/unit/backend/test_experts.c - only the chosen experts are read: the pages of the others
 * are inaccessible while a step runs, for every type, with few rows and many.  The scores of the
 * router are the first numbers of an embedding row. */
#include "../nth.h"
#include "../open.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infer/type.h>
#include "graph/graph.h"
#include "kern/data.h"
#include "type/type.h"

enum { EXPERTS = 6, USED = 2, COLS = 256, FF = 512, ROWS = 80, IDS = 3, PAGE = 4096 };

/* Three matrices of experts, each expert on pages of its own. */
struct experts {
	int type;
	char *mem[3];
	size_t each[3]; /* bytes of an expert, whole pages */
	const void *at[3][EXPERTS];
	float table[IDS][COLS], router[EXPERTS][COLS];
};

static const int chosen_of[IDS][USED] = { { 1, 3 }, { 3, 1 }, { 1, 4 } };

static void experts_make(struct experts *x, int type)
{
	memset(x, 0, sizeof *x);
	x->type = type;
	for (int s = 0; s < 3; s++) {
		int k = s < 2 ? COLS : FF, n = s < 2 ? FF : COLS;
		x->each[s] = (type_row_bytes(type, k) * (size_t)n + PAGE - 1) / PAGE * PAGE;
		x->mem[s] = mmap(NULL, x->each[s] * EXPERTS, PROT_READ | PROT_WRITE,
		                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(x->mem[s] != MAP_FAILED);
		for (int e = 0; e < EXPERTS; e++) {
			x->at[s][e] = x->mem[s] + x->each[s] * (size_t)e;
			kern_data_weights(x->mem[s] + x->each[s] * (size_t)e, type, (size_t)n, k,
			                  KERN_DATA_PLAIN, (uint64_t)(s * EXPERTS + e) + 1);
		}
	}
	kern_data_floats(x->table[0], IDS * COLS, KERN_DATA_PLAIN, 5);
	for (int i = 0; i < IDS; i++)
		for (int e = 0; e < EXPERTS; e++)
			x->table[i][e] = e == chosen_of[i][0]   ? 9
			                 : e == chosen_of[i][1] ? 8
			                                        : (float)-e;
	for (int e = 0; e < EXPERTS; e++)
		x->router[e][e] = 1;
}

static void experts_free(struct experts *x)
{
	for (int s = 0; s < 3; s++)
		munmap(x->mem[s], x->each[s] * EXPERTS);
}

static void protect(const struct experts *x, int e, int how)
{
	for (int s = 0; s < 3; s++)
		assert_int_equal(mprotect(x->mem[s] + x->each[s] * (size_t)e, x->each[s], how), 0);
}

static int32_t add(struct graph *g, enum graph_op op, int32_t a, int32_t b, int cols, int w)
{
	struct graph_node n = graph_node_of(op);

	n.src[0] = a;
	n.src[1] = b;
	n.cols = cols;
	n.w[0] = w;
	if (op == GRAPH_ROUTE)
		n.route.used = USED;
	if (op == GRAPH_MOE)
		n.moe.used = USED, n.moe.ff = FF, n.w[1] = w + 1, n.w[2] = w + 2;
	return graph_add(g, n);
}

/* ids[n] as one step -> y f32 [n][COLS] */
static int run(const struct experts *x, const int32_t *ids, int n, int threads, float *y)
{
	const void *table = x->table, *router = x->router;
	size_t row = type_row_bytes(x->type, COLS), row_ff = type_row_bytes(x->type, FF);
	struct weight w[] = { { INFER_F32, 1, { COLS, IDS }, COLS * 4, 1, &table },
		              { INFER_F32, 1, { COLS, EXPERTS }, COLS * 4, 1, &router },
		              { x->type, EXPERTS, { COLS, FF }, row, 1, x->at[0] },
		              { x->type, EXPERTS, { COLS, FF }, row, 1, x->at[1] },
		              { x->type, EXPERTS, { FF, COLS }, row_ff, 1, x->at[2] } };
	struct graph g;
	struct backend_model m = { &g, w, 5, NULL, 0 };
	struct backend_size size = { ROWS, ROWS, 4096 };
	struct backend_kv kv = { 0 };
	const uint32_t *const pages[1] = { NULL };
	struct backend_run seq = { .n = n, .pages = pages };
	int32_t rows[ROWS];
	struct backend_step step = { n, n, 1, ids, &seq, rows, &kv };
	struct backend_result res;
	struct open o = { 0 };
	int rc;

	for (int i = 0; i < n; i++)
		rows[i] = i;
	graph_init(&g);
	int32_t h = add(&g, GRAPH_EMBED, -1, -1, COLS, 0);
	int32_t r = add(&g, GRAPH_ROUTE, add(&g, GRAPH_MM, h, -1, EXPERTS, 1), -1, 0, -1);
	g.output = add(&g, GRAPH_GET_ROWS, add(&g, GRAPH_MOE, h, r, 0, 2), -1, 0, -1);
	nth_need(!g.bad);
	nth_ok(graph_check(&g, 5, NULL));
	nth_ok(open_plan(&o, backend_find("cpu"), &m, &size, threads, NULL, NULL));
	nth_ok(backend_compute(o.kind, o.plan, &step, &res, NULL));
	memcpy(y, res.logits, (size_t)n * COLS * sizeof *y);
out:
	open_close(&o);
	graph_fini(&g);
	return rc;
}

static void one(int type, const int32_t *ids, int n, int threads)
{
	static float want[ROWS * COLS], y[ROWS * COLS];
	struct experts x;

	experts_make(&x, type);
	assert_int_equal(run(&x, ids, n, threads, want), INFER_OK);
	for (int e = 0; e < EXPERTS; e++) {
		int chosen = 0;
		for (int i = 0; i < n; i++)
			chosen |= chosen_of[ids[i]][0] == e || chosen_of[ids[i]][1] == e;
		if (!chosen)
			protect(&x, e, PROT_NONE);
	}
	assert_int_equal(run(&x, ids, n, threads, y), INFER_OK);
	assert_memory_equal(y, want, (size_t)n * COLS * sizeof *y);
	experts_free(&x);
}

static void test_only_chosen(void **state)
{
	static const int types[] = { INFER_F32,  INFER_F16,    INFER_Q8_0, INFER_Q4_K,
		                     INFER_Q6_K, INFER_IQ2_XS, INFER_TQ1_0 };
	int32_t ids[ROWS];

	(void)state;
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (int m = 0; m < 4; m++) {
			int n = ((int[]){ 1, 2, 9, ROWS })[m];
			for (int i = 0; i < n; i++)
				ids[i] = m == 1 ? 2 * i : i % 2;
			one(types[t], ids, n, 1 + (int)t % 3);
		}
}

/* that a chosen one is missed: or the test above would prove nothing */
static void test_is_seen(void **state)
{
	static const int32_t ids[] = { 0 };
	struct experts x;
	float y[COLS];
	int status;

	(void)state;
	experts_make(&x, INFER_Q8_0);
	pid_t child = fork();
	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		protect(&x, 3, PROT_NONE);
		_exit(run(&x, ids, 1, 1, y));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	experts_free(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_only_chosen),
		                            cmocka_unit_test(test_is_seen) };

	return nth_group(tests);
}
