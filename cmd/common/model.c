/* common/model.c - options for a model and an engine. */
#include "common/model.h"
#include "common/env.h"
#include "common/hint.h"
#include "common/progress.h"
#include "common/say.h"
#include "common/sig.h"
#include "common/stored.h"
#include <infer/hw.h>
#include "base/arena.h"
#include "base/err.h"
#include "base/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int model_generates(const infer_model *m, const char *what, infer_error *err)
{
	struct infer_model_info info;

	infer_model_info(m, &info);
	return info.is_encoder || info.n_ranks
	               ? err_set(err, INFER_EUNSUP,
	                         "the model %s: %s needs a model that generates text",
	                         info.n_ranks ? "ranks texts" : "is an encoder", what)
	               : INFER_OK;
}

/* ---- models by name ---- */

static void say_choice(void *user, const char *sentence)
{
	(void)user;
	say_note(0, "%s", sentence);
}

static void say_detail(void *user, const char *sentence)
{
	(void)user;
	say_note(1, "%s", sentence);
}

static void show_download(void *user, uint64_t done, uint64_t all)
{
	if (!done) {
		progress_begin("downloading", PROGRESS_BYTES, all);
		sig_last_words(
			"interrupted: what was downloaded is kept; the same command continues\n");
	}
	progress_at(user, done, all);
	if (done == all) {
		progress_end();
		sig_last_words(NULL);
	}
}

/* Holds the options and the resolved paths; never freed. */
static struct arena hub_mem;
static struct infer_hub_opts hub_opts;

int model_hub_opts(const struct infer_hub_opts **o, infer_error *err)
{
	struct os_limits l;

	*o = &hub_opts;
	if (hub_opts.say)
		return INFER_OK;
	arena_init(&hub_mem, MEM_BASE);
	TRY(env_hub(&hub_opts, &hub_mem, err));
	os_limits(&l);
	hub_opts.memory_bytes = l.memory_bytes;
	hub_opts.watch.fn = show_download;
	hub_opts.note = say_detail;
	hub_opts.say = say_choice;
	return INFER_OK;
}

const char *model_cache(void) { return hub_opts.cache; }

/* Set *path to a copy of `found`, which is freed. */
static int keep_path(const char **path, char *found, infer_error *err)
{
	*path = arena_strndup(&hub_mem, found, strlen(found));
	infer_hub_free(found);
	return *path ? INFER_OK : err_set(err, INFER_ENOMEM, "out of memory for a path");
}

int model_config(const char **path, const char *ref, infer_error *err)
{
	const struct infer_hub_opts *o;
	char *found = NULL, full[160];

	TRY(model_hub_opts(&o, err));
	snprintf(full, sizeof full, "%s%s", strncmp(ref, "hf:", 3) ? "hf:" : "", ref);
	int rc = infer_hub_config(&found, full, o, err);

	progress_end();
	sig_last_words(NULL);
	return rc ? rc : keep_path(path, found, err);
}

/* Resolve a reference of a hub or store. offline: 1 to make no connection. */
static int resolve_ref(const char **path, const char *ref, int offline, infer_error *err)
{
	const struct infer_hub_opts *usual;
	struct infer_hub_opts o;
	char *found = NULL, *chat = NULL;

	TRY(model_hub_opts(&usual, err));
	o = *usual;
	o.offline |= offline;
	o.chat = &chat;
	int rc = infer_hub_get(&found, ref, &o, err);

	progress_end();
	sig_last_words(NULL);
	if (rc)
		return rc;
	TRY(keep_path(path, found, err));
	if (chat)
		stored_template_add(*path, chat);
	return INFER_OK;
}

/* 1 if the last resolved model is a directory: its weights are then repacked. */
static _Atomic int is_directory;

static int find_path(const char **path, const char *ref, int offline, infer_error *err)
{
	struct stat st;

	*path = ref;
	if (infer_hub_is_ref(ref))
		TRY(resolve_ref(path, ref, offline, err));
	else if (strcmp(ref, "demo") != 0)
		TRY(model_hint(ref, "-m ", err));
	is_directory = !stat(*path, &st) && S_ISDIR(st.st_mode);
	return INFER_OK;
}

int model_path(const char **path, const char *ref, enum model_default otherwise, infer_error *err)
{
	if (!ref && otherwise == MODEL_NAMED)
		return err_set(err, INFER_EINVAL,
		               "no model: name one with -m or INFER_MODEL (demo: built in)");
	if (!ref) {
		say_warning("no -m and no INFER_MODEL: this is the built-in model");
		ref = "demo";
	}
	return find_path(path, ref, 0, err);
}

int model_path_cached(const char **path, const char *ref, infer_error *err)
{
	return find_path(path, ref, 1, err);
}

static void show_unpacking(void *user, uint64_t done, uint64_t all)
{
	if (!done)
		progress_begin(is_directory ? "repacking" : "unpacking", PROGRESS_BYTES, all);
	progress_at(user, done, all);
	if (done == all)
		progress_end();
}

const struct infer_watch model_watch = { show_unpacking, NULL };

int isa_check(const char *name, infer_error *err)
{
	const char *from = env_name(name) ? env_name(name) : "--isa";
	struct infer_kernel_set s;
	char known[128] = "";
	size_t n = 0;

	for (int i = 0; infer_kernel_set(i, &s); i++) {
		if (!strcmp(s.name, name) && s.usable)
			return INFER_OK;
		if (!strcmp(s.name, name))
			return err_set(err, INFER_EINVAL, "%s: this processor cannot run %s", from,
			               name);
		if (s.usable && n < sizeof known)
			n += (size_t)snprintf(known + n, sizeof known - n, " %s", s.name);
	}
	return err_set(err, INFER_EINVAL, "%s: '%.40s' is not a kernel set; this machine runs%s",
	               from, name, known);
}

/* Return the cache type with this name, or NULL. */
static const struct infer_kv_type *find_kv_type(const char *name, size_t n)
{
	const struct infer_kv_type *t;

	for (int i = 0; (t = infer_kv_type(i)); i++)
		if (n == strlen(t->name) && !memcmp(name, t->name, n))
			break;
	return t;
}

/* Parse --kv-type: one type for K and V, or two as "K,V". */
static int check_kv_type(int *k, int *v, const char *text, infer_error *err)
{
	const char *comma = strchr(text, ',');
	const char *parts[] = { text, comma ? comma + 1 : text };
	size_t bytes[] = { strcspn(text, ","), strlen(parts[1]) };
	int *out[] = { k, v };

	for (int i = 0; i < 2; i++) {
		const struct infer_kv_type *t = find_kv_type(parts[i], bytes[i]);

		if (!t)
			return err_set(err, INFER_EINVAL,
			               "--kv-type: '%.40s' is not one of " KV_NAMES ", or K,V",
			               text);
		*out[i] = t->type;
	}
	return INFER_OK;
}

static int check_act_type(int *type, const char *text, infer_error *err)
{
	if (strcmp(text, "f32") && strcmp(text, "bf16"))
		return err_set(err, INFER_EINVAL, "--act-type: '%.40s' is not one of f32, bf16",
		               text);
	*type = strcmp(text, "f32") ? INFER_BF16 : INFER_F32;
	return INFER_OK;
}

static const char digits[] = "0123456789";
static const char gpu_name[] = "cuda";
enum { DEVICE_DIGITS = 3, LAYERS_DIGITS = 6 };

/* True if s consists of 1 to `most` digits. */
static int is_number(const char *s, size_t most)
{
	size_t n = strlen(s);

	return n && n <= most && strspn(s, digits) == n;
}

static int names_gpu(const char *device)
{
	return device && !strncmp(device, gpu_name, sizeof gpu_name - 1);
}

static int check_device_name(const char *s, infer_error *err)
{
	if (!strcmp(s, "auto") || !strcmp(s, "cpu") || !strcmp(s, "cuda") ||
	    (!strncmp(s, "cuda:", 5) && is_number(s + 5, DEVICE_DIGITS)))
		return INFER_OK;
	return err_set(err, INFER_EINVAL, "--device: '%.40s' is not one of auto, cpu, cuda, cuda:N",
	               s);
}

/* Parse --gpu-layers. 0 layers select the CPU. */
static int check_layers(struct infer_engine_opts *o, const char *s, infer_error *err)
{
	if (!strcmp(s, "auto")) {
		o->gpu_layers = INFER_GPU_LAYERS_FIT;
		return INFER_OK;
	}
	if (!is_number(s, LAYERS_DIGITS))
		return err_set(err, INFER_EINVAL,
		               "--gpu-layers: '%.40s' is neither a number of layers nor auto", s);
	o->gpu_layers = (int32_t)strtol(s, NULL, 10);
	if (o->gpu_layers && o->device && !strcmp(o->device, "cpu"))
		return err_set(err, INFER_EINVAL, "--gpu-layers %s: --device cpu has no GPU", s);
	if (!o->gpu_layers && names_gpu(o->device))
		return err_set(err, INFER_EINVAL, "--gpu-layers 0: that is --device cpu");
	if (!o->gpu_layers)
		o->device = "cpu";
	return INFER_OK;
}

/* Parse one number of --split: digits up to a comma or the end. Returns the text after it, or NULL. */
static const char *take_share(int32_t *share, const char *s)
{
	size_t n = strspn(s, digits);

	*share = (int32_t)(n && n <= LAYERS_DIGITS ? strtol(s, NULL, 10) : 0);
	return *share > 0 && (!s[n] || s[n] == ',') ? s + n : NULL;
}

static int check_split(struct infer_engine_opts *o, const char *text, infer_error *err)
{
	for (const char *s = text; *s || s == text; s += *s == ',') {
		if (o->n_split == INFER_SPLIT_MOST)
			return err_set(err, INFER_EINVAL,
			               "--split: '%.40s' names more than %d GPUs", text,
			               INFER_SPLIT_MOST);
		s = take_share(&o->split[o->n_split++], s);
		if (!s || !strcmp(s, ","))
			return err_set(err, INFER_EINVAL,
			               "--split: '%.40s' must be numbers from 1, such as 16,16",
			               text);
	}
	if (o->device && strcmp(o->device, "auto") && strcmp(o->device, gpu_name))
		return err_set(err, INFER_EINVAL,
		               "--split %.40s: it goes with --device cuda, not %s", text,
		               o->device);
	if (o->gpu_layers == INFER_GPU_LAYERS_FIT)
		return err_set(err, INFER_EINVAL,
		               "--split %.40s: --gpu-layers must be a number with it", text);
	return INFER_OK;
}

static int check_experts(struct infer_engine_opts *o, infer_error *err)
{
	if (o->device && !strcmp(o->device, "cpu"))
		return err_set(err, INFER_EINVAL, "--cpu-experts: --device cpu has no GPU");
	o->flags |= INFER_ENGINE_CPU_EXPERTS;
	return INFER_OK;
}

int engine_has_gpu(const infer_engine *e)
{
	struct infer_engine_info info;

	infer_engine_info(e, &info);
	return strstr(info.placement, gpu_name) != NULL;
}

int engine_wants_gpu(const struct infer_engine_opts *o)
{
	return names_gpu(o->device) || o->gpu_layers > 0 || o->n_split > 0 ||
	       o->flags & INFER_ENGINE_CPU_EXPERTS;
}

int engine_keep_cpu(struct infer_engine_opts *o, const char *why, infer_error *err)
{
	if (engine_wants_gpu(o))
		return err_set(err, INFER_EINVAL, "%s: no GPU computes with it: --device cpu", why);
	o->device = "cpu";
	return INFER_OK;
}

/* Append the number of layers of one part of a placement ("cuda1/sm_90:8-15") to the split, and add it to
 * *all. Returns 0 if the part has no range of layers. */
static int add_part(const char *part, struct engine_place *text, int *all)
{
	const char *range = strchr(part, ':');
	size_t at = strlen(text->split);
	int from, to;

	if (!range || sscanf(range, ":%6d-%6d", &from, &to) != 2 || from < 0 || to < from)
		return 0;
	*all += to - from + 1;
	snprintf(text->split + at, sizeof text->split - at, "%s%d", at ? "," : "", to - from + 1);
	return 1;
}

void engine_args_place(struct engine_args *a, const char *placement, struct engine_place *text)
{
	const char *gpu = strstr(placement, gpu_name);
	int all = 0, n = 0, whole = gpu != NULL;

	*text = (struct engine_place){ 0 };
	if (a->device || a->gpu_layers || a->split || a->cpu_experts || !*placement)
		return;
	a->device = gpu ? gpu_name : "cpu";
	a->cpu_experts = strstr(placement, "+cpu-experts") != NULL;
	for (const char *part = gpu; part; part = strstr(part + 1, gpu_name), n++)
		whole = add_part(part, text, &all) && whole;
	if (whole && gpu != placement) {
		snprintf(text->layers, sizeof text->layers, "%d", all);
		a->gpu_layers = text->layers;
	}
	if (whole && n > 1 && n <= INFER_SPLIT_MOST)
		a->split = text->split;
}

static void show_loading(void *user, uint64_t done, uint64_t all)
{
	if (!done)
		progress_begin("loading", PROGRESS_BYTES, all);
	progress_at(user, done, all);
}

int engine_open_shown(infer_engine **out, const infer_model *m, struct infer_engine_opts *o,
                      infer_error *err)
{
	int rc;

	o->loading = (struct infer_watch){ show_loading, NULL };
	rc = infer_engine_open(out, m, o, err);
	progress_end();
	return rc;
}

int engine_args_take(struct infer_engine_opts *out, const struct engine_args *a, infer_error *err)
{
	struct infer_engine_opts o = {
		.threads = (int32_t)a->threads,
		.isa = a->isa,
		.ctx = (int32_t)a->ctx,
		.kv_bytes = a->kv_bytes,
		.swap_bytes = a->swap_bytes,
		.prefill_chunk = (int32_t)a->prefill_chunk,
		.step_ms = (int32_t)a->step_ms,
		.flags = a->no_prefix_cache ? INFER_ENGINE_NO_PREFIX_CACHE : 0,
		.device = a->device,
	};

	(void)a->deterministic; /* answers are always deterministic */
	if (a->device)
		TRY(check_device_name(a->device, err));
	if (a->gpu_layers)
		TRY(check_layers(&o, a->gpu_layers, err));
	if (a->split)
		TRY(check_split(&o, a->split, err));
	if (a->cpu_experts)
		TRY(check_experts(&o, err));
	if (a->isa)
		TRY(isa_check(a->isa, err));
	if (a->kv_type) {
		TRY(check_kv_type(&o.k_type, &o.v_type, a->kv_type, err));
		o.kv_set = 1;
	}
	if (a->act_type)
		TRY(check_act_type(&o.act_type, a->act_type, err));
	*out = o;
	return INFER_OK;
}
