/* engine/device.c - choose the devices of an engine. */
#include "engine/device.h"
#include "engine/engine.h"
#include "base/err.h"
#include "base/num.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum device_wish { WISH_AUTO, WISH_CPU, WISH_GPU };
enum { MOST_NUMBER = 999, CTX_LEAST = 4096 };

/* device auto uses a GPU for weights of this size or more: opening one takes as long as a CPU takes to read
 * several GiB. */
#define LEAST_BYTES (UINT64_C(1) << 30)

static const char gpu_name[] = "cuda";

struct device_gpu device_gpu(void)
{
	return (struct device_gpu){ backend_find(gpu_name), LEAST_BYTES };
}

/* Parse the digits after "cuda:".  Returns -1 if they are not the number of a device. */
static int parse_number(const char *digits)
{
	int n = 0;

	if (!*digits)
		return -1;
	for (; *digits; digits++) {
		if (*digits < '0' || *digits > '9')
			return -1;
		n = 10 * n + (*digits - '0');
		if (n > MOST_NUMBER)
			return -1;
	}
	return n;
}

/* Parse the device option; *number: index of the GPU.  Returns -1 if it is malformed. */
static int parse_wish(enum device_wish *wish, const char *text, int *number)
{
	const size_t n = sizeof gpu_name - 1;

	*number = 0;
	*wish = WISH_AUTO;
	if (!text || !strcmp(text, "auto"))
		return 0;
	if (!strcmp(text, "cpu")) {
		*wish = WISH_CPU;
		return 0;
	}
	if (strncmp(text, gpu_name, n) || (text[n] && text[n] != ':'))
		return -1;
	*wish = WISH_GPU;
	if (text[n])
		*number = parse_number(text + n + 1);
	return *number < 0 ? -1 : 0;
}

static enum device_wish wish_of(const struct infer_engine_opts *o, int *number)
{
	enum device_wish wish;

	must(!parse_wish(&wish, o->device, number));
	return wish == WISH_AUTO && (o->gpu_layers > 0 || o->n_split ||
	                             o->flags & INFER_ENGINE_CPU_EXPERTS)
	               ? WISH_GPU
	               : wish;
}

static int check_split(const struct infer_engine_opts *o, enum device_wish wish, infer_error *err)
{
	if (!o->n_split)
		return INFER_OK;
	if (o->n_split < 0 || o->n_split > INFER_SPLIT_MOST)
		return err_set(err, INFER_EINVAL, "split has %d shares: must be at most %d",
		               (int)o->n_split, INFER_SPLIT_MOST);
	for (int i = 0; i < o->n_split; i++)
		if (o->split[i] < 1)
			return err_set(err, INFER_EINVAL,
			               "split: share %d is %d: must be at least 1", i,
			               (int)o->split[i]);
	if (wish == WISH_CPU || (o->device && strchr(o->device, ':')))
		return err_set(err, INFER_EINVAL,
		               "split is of GPUs from 0, but device is \"%.40s\"", o->device);
	if (o->gpu_layers == INFER_GPU_LAYERS_FIT)
		return err_set(err, INFER_EINVAL, "split needs a number of gpu_layers, or all");
	return INFER_OK;
}

int device_check(const struct infer_engine_opts *o, infer_error *err)
{
	enum device_wish wish;
	int number;

	if (parse_wish(&wish, o->device, &number))
		return err_set(err, INFER_EINVAL,
		               "device is \"%.40s\": must be auto, cpu, cuda, or cuda:N with N "
		               "from 0 to %d",
		               o->device, MOST_NUMBER);
	if (o->gpu_layers < INFER_GPU_LAYERS_FIT)
		return err_set(err, INFER_EINVAL, "gpu_layers is %d: must be at least -1",
		               (int)o->gpu_layers);
	if (wish == WISH_CPU && o->gpu_layers > 0)
		return err_set(err, INFER_EINVAL, "gpu_layers is %d, but device is \"cpu\"",
		               (int)o->gpu_layers);
	if (wish == WISH_CPU && o->flags & INFER_ENGINE_CPU_EXPERTS)
		return err_set(err, INFER_EINVAL,
		               "experts of a GPU are to be on the CPU, but device is \"cpu\"");
	return check_split(o, wish, err);
}

int device_wants_gpu(const struct infer_engine_opts *o)
{
	int number;

	return wish_of(o, &number) == WISH_GPU;
}

struct device_list device_cpu(void)
{
	return (struct device_list){ .at = { { .kind = backend_find("cpu") } }, .n = 1 };
}

/* Add GPUs 0, 1, ... with their shares of n layers.  The layers of GPU i end at
 * round(n * (sum of shares 0 ... i) / (sum of all)), moved so that each GPU has a layer. */
static void add_split(struct device_list *list, const struct infer_engine_opts *o,
                      const struct device_gpu *gpu, int n)
{
	int64_t sum = 0, upto = 0;
	int from = 0;

	for (int i = 0; i < o->n_split; i++)
		sum += o->split[i];
	for (int i = 0; i < o->n_split; i++) {
		int left = o->n_split - 1 - i, to;

		upto += o->split[i];
		to = (int)((2 * n * upto + sum) / (2 * sum));
		to = (int)num_max(from + 1, num_min(to, n - left));
		list->at[list->n++] = (struct stages_device){ gpu->kind, i, to - from };
		from = to;
	}
}

struct device_list device_with_gpu(const infer_model *m, const struct infer_engine_opts *o,
                                   const struct device_gpu *gpu, int all_fit)
{
	struct device_list list = device_cpu();
	int number, layers = o->gpu_layers;

	wish_of(o, &number);
	if (layers == INFER_GPU_LAYERS_FIT ? all_fit : !layers || layers >= m->h.n_layers)
		list.n = 0;
	else
		list.at[0].layers = layers < 0 ? STAGES_FIT : m->h.n_layers - layers;
	if (o->n_split)
		add_split(&list, o, gpu, m->h.n_layers - (list.n ? list.at[0].layers : 0));
	else
		list.at[list.n++] = (struct stages_device){ .kind = gpu->kind, .number = number };
	return list;
}

int device_allows(const infer_model *m, const struct infer_engine_opts *o,
                  const struct device_gpu *gpu, infer_error *err)
{
	const int layers =
		o->gpu_layers > 0 && o->gpu_layers < m->h.n_layers ? o->gpu_layers : m->h.n_layers;

	if (!gpu->kind)
		return err_set(err, INFER_EDEVICE, "this build has no CUDA backend (make CUDA=1)");
	if (o->n_split > layers)
		return err_set(err, INFER_EINVAL, "split has %d shares, more than the %d layers",
		               (int)o->n_split, layers);
	if (o->lora_rank)
		return err_set(err, INFER_EUNSUP, "%s: LoRA adapters are applied on the CPU only",
		               gpu_name);
	if (o->observer.fn)
		return err_set(err, INFER_EUNSUP, "%s: products are observed on the CPU only",
		               gpu_name);
	return INFER_OK;
}

/* Open with a GPU. With INFER_GPU_LAYERS_FIT try all layers on the GPU first. */
static int open_gpu(infer_engine **out, const infer_model *m, const struct infer_engine_opts *o,
                    const struct device_gpu *gpu, int32_t ctx_least, infer_error *err)
{
	struct device_list list = device_with_gpu(m, o, gpu, 1);
	const int fit = o->gpu_layers == INFER_GPU_LAYERS_FIT;
	int rc;

	list.ctx_least = fit ? CTX_LEAST : ctx_least;
	rc = engine_open_list(out, m, o, &list, err);
	if (!fit || rc != INFER_ENOMEM)
		return rc;
	list = device_with_gpu(m, o, gpu, 0);
	list.ctx_least = CTX_LEAST;
	return engine_open_list(out, m, o, &list, err);
}

/* Open with a GPU if that is faster and works; else leave *out NULL and set *why to the reason. */
static int try_gpu(infer_engine **out, const infer_model *m, const struct infer_engine_opts *o,
                   const struct device_gpu *gpu, infer_error *why)
{
	int rc = device_allows(m, o, gpu, why);

	if (!rc && m->weight_bytes < gpu->least_bytes)
		rc = err_set(why, INFER_EUNSUP,
		             "a GPU takes longer to open than a model of %.1f MiB gains",
		             (double)m->weight_bytes / (1 << 20));
	return rc ? rc : open_gpu(out, m, o, gpu, CTX_LEAST, why);
}

static int is_reason(int rc)
{
	return rc == INFER_EDEVICE || rc == INFER_EUNSUP || rc == INFER_ENOMEM;
}

int device_open(infer_engine **out, const infer_model *m, const struct infer_engine_opts *o,
                const struct device_gpu *gpu, infer_error *err)
{
	struct device_list cpu = device_cpu();
	infer_error why = { 0 };
	int number, rc;

	*out = NULL;
	TRY(device_check(o, err));
	if (wish_of(o, &number) == WISH_GPU) {
		TRY(device_allows(m, o, gpu, err));
		return open_gpu(out, m, o, gpu, 0, err);
	}
	if (wish_of(o, &number) == WISH_CPU || !gpu->kind)
		return engine_open_list(out, m, o, &cpu, err);
	rc = try_gpu(out, m, o, gpu, &why);
	if (!rc)
		return rc;
	if (is_reason(rc) && o->log) {
		char line[sizeof why.message + 32];

		snprintf(line, sizeof line, "the CPU computes: %s", why.message);
		o->log(o->log_user, INFER_LOG_INFO, line);
	}
	if (is_reason(rc))
		return engine_open_list(out, m, o, &cpu, err);
	return err_set(err, rc, "%s", why.message);
}

int device_need(struct infer_engine_need *need, const infer_model *m,
                const struct infer_engine_opts *o, const struct device_gpu *gpu, infer_error *err)
{
	struct device_list list = device_cpu();
	int rc;

	TRY(device_check(o, err));
	if (!device_wants_gpu(o))
		return engine_need_list(need, m, o, &list, err);
	TRY(device_allows(m, o, gpu, err));
	list = device_with_gpu(m, o, gpu, 1);
	if (o->gpu_layers != INFER_GPU_LAYERS_FIT)
		return engine_need_list(need, m, o, &list, err);
	list.ctx_least = CTX_LEAST;
	rc = engine_need_list(need, m, o, &list, err);
	if (rc != INFER_ENOMEM)
		return rc;
	list = device_with_gpu(m, o, gpu, 0);
	list.ctx_least = CTX_LEAST;
	return engine_need_list(need, m, o, &list, err);
}
