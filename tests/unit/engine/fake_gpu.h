/* tests/unit/engine/fake_gpu.h - a GPU for tests of the choice of devices: the CPU behind closed memory
 * (../backend/apart.h), whose calls can be made to fail. */
#ifndef TESTS_ENGINE_FAKE_GPU_H
#define TESTS_ENGINE_FAKE_GPU_H
#include "apart_run.h"
#include "engine/device.h"

enum { LAYERS = 6 };

static struct backend_kind fake;
static struct device_gpu gpu = { &fake, 0 };
static infer_model *model; /* of LAYERS layers */

/* Failures of the fake device. */
static struct {
	int open_code, need_code, opened, closed; /* codes: 0: as the CPU does */
	const char *open_message;
	uint64_t left; /* memory; 0: that of apart.h */
	int fail_step; /* the number of the step whose end fails, from 1; 0: none */
	int lost;      /* all steps after it fail too */
	int steps;
	const struct infer_watch *watch; /* of the device that was opened last */
} made;

static int fake_open(struct backend **out, const struct host *host, const struct backend_opts *o,
                     infer_error *err)
{
	*out = NULL;
	if (made.open_code)
		return err_set(err, made.open_code, "%s", made.open_message);
	if (o->device > 1)
		return err_set(err, INFER_EINVAL, "no such device: there are 2");
	TRY(apart_open(out, host, o, err));
	made.opened++;
	made.watch = o->loading;
	return INFER_OK;
}

static void fake_close(struct backend *b)
{
	made.closed += b != NULL;
	apart_close(b);
}

static void fake_describe(const struct backend *b, char *out, size_t n)
{
	assert_non_null(b);
	snprintf(out, n, "sm_90");
}

static void fake_memory(const struct backend *b, uint64_t *left, uint64_t *total)
{
	apart_memory(b, left, total);
	if (made.left)
		*left = made.left;
}

static int fake_need(struct backend_need *need, struct backend *b, const struct backend_model *m,
                     const struct backend_size *size, infer_error *err)
{
	if (made.need_code)
		return err_set(err, made.need_code, "the operation CONV is not supported");
	return apart_need(need, b, m, size, err);
}

static int fake_load(struct backend_weights **out, struct backend *b, const struct weight *w, int n,
                     infer_error *err)
{
	const struct infer_watch *watch = made.watch;

	if (watch)
		watch->fn(watch->user, 0, weights_bytes(w, n));
	TRY(apart_load(out, b, w, n, err));
	if (watch)
		watch->fn(watch->user, weights_bytes(w, n), weights_bytes(w, n));
	return INFER_OK;
}

static int fake_end(struct backend_plan *p, struct backend_result *r, infer_error *err)
{
	int rc = apart_end(p, r, err), at = ++made.steps;

	if (made.fail_step && (at == made.fail_step || (made.lost && at > made.fail_step)))
		return err_set(err, INFER_EDEVICE, "the device is lost");
	return rc;
}

static char said[4096];
static void gather(void *user, int level, const char *line)
{
	(void)user;
	assert_int_not_equal(level, INFER_LOG_WARN);
	snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

static struct infer_engine_opts opts(const char *device, int32_t gpu_layers)
{
	return (struct infer_engine_opts){ .device = device,
		                           .gpu_layers = gpu_layers,
		                           .threads = 1,
		                           .ctx = CTX,
		                           .max_seqs = SEQS,
		                           .prefill_chunk = 64,
		                           .kv_bytes = 0,
		                           .log = gather };
}

static void reset(void)
{
	memset(&made, 0, sizeof made);
	gpu = (struct device_gpu){ &fake, 0 };
	said[0] = 0;
}

/* Open, compare the placement, close. */
static void is_on(const struct infer_engine_opts *o, const char *want)
{
	struct infer_engine_info info;
	infer_engine *e;
	infer_error err;

	if (device_open(&e, model, o, &gpu, &err))
		fail_msg("%s", err.message);
	infer_engine_info(e, &info);
	assert_string_equal(info.placement, want);
	infer_engine_close(&e);
	assert_int_equal(made.opened, made.closed);
}

static void is_refused(const struct infer_engine_opts *o, int code, const char *message)
{
	infer_engine *e;
	infer_error err;

	assert_int_equal(device_open(&e, model, o, &gpu, &err), code);
	assert_null(e);
	assert_int_equal(err.code, code);
	if (!strstr(err.message, message))
		fail_msg("\"%s\" does not contain \"%s\"", err.message, message);
	assert_int_equal(made.opened, made.closed);
}

static void drive_on(const struct infer_engine_opts *o, struct result *to)
{
	struct infer_engine_stats st;
	infer_engine *e;
	infer_error err;

	if (device_open(&e, model, o, &gpu, &err))
		fail_msg("%s", err.message);
	serve(e, to, &st);
	infer_engine_close(&e);
}

/* Prepare the fake device, and open the model.  Returns 0, or 1 if the model cannot be opened. */
static int fake_open_model(const char *program)
{
	fake = apart_kind();
	fake.name = "cuda";
	fake.open = fake_open;
	fake.close = fake_close;
	fake.describe = fake_describe;
	fake.memory = fake_memory;
	fake.need = fake_need;
	fake.load = fake_load;
	fake.end = fake_end;
	apart_init(program);
	return infer_model_open(&model, model_of(&hows[4]), NULL, NULL) != INFER_OK;
}
#endif
