/* tests/unit/cuda/test_emu_host.c - experts that the host computes for a device: the memory that the
 * device saves, the placement, several devices, ids that no expert has.  For the emulation. */
#include "../../emu/emu_control.h"
#include "../engine/apart_run.h"
#include "../open.h"
#include "engine/device.h"
#include "kern/data.h"
#include "type/type.h"

#include <math.h>

enum { LAYERS = 3, MIB = 1 << 20 };
static infer_model *model, *dense;
static char said[4096];

static void gather(void *user, int level, const char *line)
{
	(void)user;
	snprintf(said + strlen(said), sizeof said - strlen(said), "%s%s\n",
	         level == INFER_LOG_WARN ? "warning: " : "", line);
}

static struct infer_engine_opts opts(uint32_t flags)
{
	return (struct infer_engine_opts){ .device = "cuda",
		                           .threads = 2,
		                           .ctx = CTX,
		                           .max_seqs = SEQS,
		                           .prefill_chunk = 64,
		                           .flags = flags,
		                           .log = gather };
}

static void open_opts(infer_engine **e, const infer_model *m, const struct infer_engine_opts *o)
{
	infer_error err;

	said[0] = 0;
	if (infer_engine_open(e, m, o, &err))
		fail_msg("%s", err.message);
}

/* Bytes of the experts in the file. */
static uint64_t expert_bytes(void)
{
	uint64_t bytes = 0;

	for (int i = 0; i < model->n_weights; i++)
		bytes += model->weights[i].n > 1 ? weights_bytes(&model->weights[i], 1) : 0;
	return bytes;
}

static struct {
	uint64_t done, all;
} loaded;

static void gather_loaded(void *user, uint64_t done, uint64_t all)
{
	(void)user;
	assert_true(done >= loaded.done && done <= all);
	loaded.done = done;
	loaded.all = all;
}

/* Bytes of the device and of pinned memory that an engine takes; *need: what it said before. */
static size_t bytes_of(const struct infer_engine_opts *o, struct infer_engine_need *need)
{
	size_t before = emu_live_bytes(), bytes;
	infer_engine *e;

	assert_int_equal(infer_engine_need(model, o, need, NULL), INFER_OK);
	open_opts(&e, model, o);
	bytes = emu_live_bytes() - before;
	infer_engine_close(&e);
	assert_int_equal(emu_live_bytes(), before);
	return bytes;
}

/* The device takes no byte of the experts, nor uploads one; the host says that it reads them. */
static void test_memory(void **state)
{
	struct infer_engine_opts o = opts(0);
	const uint64_t experts = expert_bytes();
	struct infer_engine_need all, some;
	size_t all_bytes, some_bytes;

	(void)state;
	assert_true(experts > 4 * MIB);
	all_bytes = bytes_of(&o, &all);
	o.flags = INFER_ENGINE_CPU_EXPERTS;
	o.loading.fn = gather_loaded;
	some_bytes = bytes_of(&o, &some);
	assert_true(all_bytes - some_bytes >= experts);
	assert_true(all.device_weight_bytes - some.device_weight_bytes >= experts);
	assert_true(some.device_weight_bytes < experts);
	assert_int_equal(all.weight_bytes, 0);
	assert_int_equal(some.weight_bytes, experts);
	assert_true(some.workspace_bytes > all.workspace_bytes);
	assert_true(some.device_workspace_bytes < all.device_workspace_bytes);
	assert_true(some.thread_bytes > 0 && !all.thread_bytes);
	assert_int_equal(loaded.all, weights_bytes(model->weights, model->n_weights) - experts);
	assert_int_equal(loaded.done, loaded.all);
}

static void is_on(const infer_model *m, const struct infer_engine_opts *o, const char *want)
{
	struct infer_engine_info info;
	infer_engine *e;
	char gpu[320] = "", *to = gpu;

	open_opts(&e, m, o);
	infer_engine_info(e, &info);
	infer_engine_close(&e);
	for (const char *at = info.placement; *at; at++) { /* whatever the device is */
		if (!strncmp(at, "/sm_", 4))
			at += 4 + strspn(at + 4, "0123456789");
		*to++ = *at;
	}
	assert_string_equal(gpu, want);
}

/* The placement names the experts, and the log their bytes, or that there are none. */
static void test_placement(void **state)
{
	struct infer_engine_opts o = opts(INFER_ENGINE_CPU_EXPERTS);

	(void)state;
	is_on(model, &o, "cuda:0-2+cpu-experts");
	assert_non_null(strstr(said, " of experts on the CPU\n"));
	assert_null(strstr(said, "warning"));
	o.device = NULL; /* a GPU is asked for */
	is_on(model, &o, "cuda:0-2+cpu-experts");
	o.gpu_layers = 2;
	is_on(model, &o, "cpu:0-0,cuda:1-2+cpu-experts");
	o.gpu_layers = INFER_GPU_LAYERS_FIT;
	is_on(model, &o, "cuda:0-2+cpu-experts");
	o.gpu_layers = 0;
	is_on(dense, &o, "cuda:0-2");
	assert_non_null(strstr(said, "warning: no experts to keep on the CPU"));
	o.flags = 0;
	o.device = "cuda";
	is_on(dense, &o, "cuda:0-2");
	assert_null(strstr(said, "warning"));
	is_on(model, &o, "cuda:0-2");
	assert_null(strstr(said, "of experts"));
}

/* With memory for the layers and not for their experts. */
static void test_fit(void **state)
{
	struct infer_engine_opts o = opts(0);
	struct infer_engine_need need;
	infer_engine *e;
	infer_error err;

	(void)state;
	o.max_seqs = 1;
	o.flags = INFER_ENGINE_CPU_EXPERTS;
	assert_int_equal(infer_engine_need(model, &o, &need, NULL), INFER_OK);
	/* and what uploads and kernels take */
	emu_set_memory(need.device_weight_bytes + need.device_workspace_bytes +
	               2 * need.device_kv_bytes + 162 * MIB);
	open_opts(&e, model, &o);
	infer_engine_close(&e);
	o.flags = 0;
	assert_int_equal(infer_engine_open(&e, model, &o, &err), INFER_ENOMEM);
	emu_set_memory((size_t)4 << 30);
}

static void drive_on(const struct infer_engine_opts *o, struct result *to)
{
	struct infer_engine_stats st;
	infer_engine *e;

	open_opts(&e, model, o);
	serve(e, to, &st);
	infer_engine_close(&e);
}

/* Two devices give the bits of one, whether the work of a stream runs at once or when it is awaited. */
static void test_split(void **state)
{
	struct infer_engine_opts o = opts(INFER_ENGINE_CPU_EXPERTS);

	(void)state;
	drive_on(&o, on_cpu);
	emu_set_devices(2);
	emu_set_lazy(1);
	o.split[0] = 1;
	o.split[1] = 2;
	o.n_split = 2;
	is_on(model, &o, "cuda0:0-0+cpu-experts,cuda1:1-2+cpu-experts");
	drive_on(&o, on_apart);
	emu_set_lazy(0);
	emu_set_devices(1);
	for (int i = 0; i < REQUESTS; i++) {
		assert_int_equal(on_cpu[i].code, INFER_OK);
		run_same(&on_cpu[i], &on_apart[i], "two devices");
	}
}

/* ---- one node, to which the test hands its choices ---- */
enum { COLS = 256, FF = 96, EXPERTS = 4, USED = 2, ROWS = 5, WEIGHTS = 5 };

struct one {
	struct graph g;
	struct weight w[WEIGHTS];
	const void *at[WEIGHTS][EXPERTS];
	void *bytes[WEIGHTS];
	struct backend_model m;
};

static void one_weights(struct one *t)
{
	static const struct {
		int type, n, k, rows;
	} shapes[WEIGHTS] = { { INFER_F32, 1, COLS, 8 },
		              { INFER_F32, EXPERTS, COLS, FF },
		              { INFER_F32, EXPERTS, COLS, FF },
		              { INFER_F32, EXPERTS, FF, COLS },
		              { INFER_BF16, 1, COLS, COLS } };

	for (int i = 0; i < WEIGHTS; i++) {
		const size_t row = type_row_bytes(shapes[i].type, shapes[i].k);
		const size_t rows = (size_t)shapes[i].n * (size_t)shapes[i].rows;

		t->bytes[i] = malloc(rows * row);
		assert_non_null(t->bytes[i]);
		kern_data_weights(t->bytes[i], shapes[i].type, rows, shapes[i].k, KERN_DATA_PLAIN,
		                  (uint64_t)i + 1);
		for (int e = 0; e < shapes[i].n; e++)
			t->at[i][e] =
				(char *)t->bytes[i] + (size_t)e * (size_t)shapes[i].rows * row;
		t->w[i] = (struct weight){ .type = shapes[i].type,
			                   .n = shapes[i].n,
			                   .ne = { shapes[i].k, shapes[i].rows },
			                   .row_bytes = row,
			                   .scale = 1,
			                   .at = t->at[i],
			                   .on_host = shapes[i].n > 1 };
	}
}

/* product 1: a matrix product reads the experts' result, before anything else does. */
static void one_make(struct one *t, int product)
{
	struct graph_node embed = graph_node_of(GRAPH_EMBED), recv = graph_node_of(GRAPH_RECV),
			  n = graph_node_of(GRAPH_MOE), pick = graph_node_of(GRAPH_GET_ROWS),
			  mm = graph_node_of(GRAPH_MM);

	*t = (struct one){ 0 };
	one_weights(t);
	graph_init(&t->g);
	embed.cols = mm.cols = COLS;
	embed.w[0] = 0;
	n.src[0] = graph_add(&t->g, embed);
	recv.cols = 2 * USED;
	n.src[1] = graph_add(&t->g, recv);
	for (int k = 0; k < 3; k++)
		n.w[k] = k + 1;
	n.moe.used = USED;
	n.moe.ff = FF;
	pick.src[0] = mm.src[0] = graph_add(&t->g, n);
	mm.w[0] = 4;
	if (product)
		pick.src[0] = graph_add(&t->g, mm);
	t->g.output = graph_add(&t->g, pick);
	t->m = (struct backend_model){ .graph = &t->g, .weights = t->w, .n_weights = WEIGHTS };
}

static void one_free(struct one *t)
{
	for (int i = 0; i < WEIGHTS; i++)
		free(t->bytes[i]);
	graph_fini(&t->g);
}

static int one_run(struct open *o, float *choice, float *y, infer_error *err)
{
	static const int32_t ids[ROWS] = { 0, 3, 7, 1, 2 }, out[ROWS] = { 0, 1, 2, 3, 4 };
	const struct backend_run run = { .n = ROWS };
	const struct backend_step s = { .n = ROWS,
		                        .n_out = ROWS,
		                        .n_runs = 1,
		                        .ids = ids,
		                        .runs = &run,
		                        .out = out,
		                        .edges = &choice };
	struct backend_result r;

	TRY(backend_compute(o->kind, o->plan, &s, &r, err));
	memcpy(y, r.logits, ROWS * COLS * sizeof *y);
	return INFER_OK;
}

/* The same graph on the CPU and, with experts on the host, on a device. */
struct both {
	struct one t;
	struct open cpu, gpu;
	float want[ROWS * COLS], y[ROWS * COLS];
};
static _Alignas(64) float good[ROWS * 2 * USED];

static void both_open(struct both *b, int product)
{
	const struct backend_size size = { ROWS, ROWS, 64 };
	infer_error err;

	one_make(&b->t, product);
	for (int r = 0; r < ROWS; r++)
		for (int i = 0; i < USED; i++) {
			good[r * 2 * USED + i] = (float)((r + 2 * i) % EXPERTS);
			good[r * 2 * USED + USED + i] = 0.25f * (float)(i + r + 1);
		}
	if (open_plan(&b->cpu, backend_find("cpu"), &b->t.m, &size, 1, NULL, &err) ||
	    open_plan(&b->gpu, backend_find("cuda"), &b->t.m, &size, 1, NULL, &err) ||
	    one_run(&b->cpu, good, b->want, &err) || one_run(&b->gpu, good, b->y, &err))
		fail_msg("%s", err.message);
}

static void both_close(struct both *b)
{
	open_close(&b->cpu);
	open_close(&b->gpu);
	one_free(&b->t);
}

/* The node has the bits of the CPU backend; an id that no expert has is an error of the device, and the
 * next step runs. */
static void test_choice(void **state)
{
	static const float bad[] = { EXPERTS, -1, 1e9f, INFINITY, NAN };
	static _Alignas(64) float choice[ROWS * 2 * USED];
	infer_error err;
	struct both b;

	(void)state;
	both_open(&b, 0);
	assert_memory_equal(b.y, b.want, sizeof b.y);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memcpy(choice, good, sizeof choice);
		choice[(ROWS - 1) * 2 * USED + USED - 1] = bad[i];
		assert_int_equal(one_run(&b.gpu, choice, b.y, &err), INFER_EDEVICE);
		assert_non_null(strstr(err.message, "the device chose expert "));
		assert_non_null(strstr(err.message, " of 4"));
		assert_int_equal(one_run(&b.gpu, good, b.y, &err), INFER_OK);
		assert_memory_equal(b.y, b.want, sizeof b.y);
	}
	both_close(&b);
}

/* A product of the device that reads the result waits for it. */
static void test_product(void **state)
{
	float most = 0, far = 0;
	struct both b;

	(void)state;
	both_open(&b, 1);
	for (int i = 0; i < ROWS * COLS; i++) {
		most = fmaxf(most, fabsf(b.want[i]));
		far = fmaxf(far, fabsf(b.want[i] - b.y[i]));
	}
	assert_true(most > 0 && far <= 1e-5f * most);
	both_close(&b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory), cmocka_unit_test(test_placement),
		cmocka_unit_test(test_fit),    cmocka_unit_test(test_split),
		cmocka_unit_test(test_choice), cmocka_unit_test(test_product)
	};
	infer_error err;
	int rc;

	(void)argc;
	apart_init(argv[0]);
	if (infer_model_open(
		    &model,
		    run_model("experts",
	                      "--arch qwen3moe --embd 128 --heads 2 --kv-heads 1 --layers 3 "
	                      "--expert-ff 512 --experts 8 --experts-used 2 --vocab 1003 "
	                      "--ctx 1024 --type q8_0"),
		    NULL, &err))
		return 99;
	if (infer_model_open(&dense,
	                     run_model("dense", "--embd 64 --heads 2 --kv-heads 1 --layers 3 "
	                                        "--vocab 1003 --ctx 1024 --type q8_0"),
	                     NULL, &err))
		return 99;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	infer_model_close(&model);
	infer_model_close(&dense);
	return rc;
}
