/* arch/model.c - open a model: metadata, tokenizer, tensors, RoPE tables, graph. Nothing here reads
 * weights. */
#include "arch/order.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "file/file.h"

#include <stdio.h>
#include <string.h>

/* Set the error of an unknown architecture, with the names of some that are known. */
static int refuse_family(const infer_model *m, struct infer_str name, infer_error *err)
{
	enum { MOST = 16 };
	char known[256] = "";
	size_t n = 0;

	for (int i = 0; infer_model_family(i) && i < MOST && n < sizeof known; i++)
		n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "",
		                      infer_model_family(i));
	return err_set(err, INFER_EUNSUP, "%s: architecture %.*s is not supported; these run: %s%s",
	               file_label(infer_file_path(m->file)), (int)(name.len < 32 ? name.len : 32),
	               name.at, known, infer_model_family(MOST) ? " ..." : "");
}

static int find_arch(infer_model *m, infer_error *err)
{
	struct infer_str name = { "", 0 }, type = { "model", 5 };
	int found;

	TRY(infer_meta_str(m->file, "general.type", &type, NULL, err));
	if (type.len == 7 && !memcmp(type.at, "adapter", 7))
		return err_set(err, INFER_EUNSUP,
		               "%s: an adapter, not a model: give it with --lora, and its base "
		               "model with -m",
		               infer_file_path(m->file));
	if (type.len != 5 || memcmp(type.at, "model", 5))
		return err_set(err, INFER_EUNSUP, "%s: general.type is %.*s, not a model",
		               infer_file_path(m->file), (int)(type.len < 64 ? type.len : 64),
		               type.at);
	TRY(infer_meta_str(m->file, "general.architecture", &name, &found, err));
	if (!found)
		return err_set(err, INFER_EFORMAT, "%s: key general.architecture: missing",
		               infer_file_path(m->file));
	TRY(arch_check_foreign(m, name, err));
	m->arch = arch_find(name);
	if (!m->arch)
		return refuse_family(m, name, err);
	return INFER_OK;
}

/* Set adds_bos if the tokenizer adds BOS before a text: encode an empty text. */
static int find_bos(infer_model *m, infer_error *err)
{
	int32_t *ids;
	size_t n;

	TRY(infer_encode(m->tok, "", 0, INFER_ENCODE_ADD, &ids, &n, err));
	m->adds_bos = n && ids[0] == infer_token_special(m->tok, INFER_BOS);
	infer_ids_free(ids);
	return INFER_OK;
}

/* Open the tokenizer, if the file has a vocabulary. */
static int open_tokenizer(infer_model *m, infer_error *err)
{
	struct infer_str name = { "", 0 };

	TRY(infer_meta_str(m->file, "tokenizer.ggml.model", &name, NULL, err));
	if (!name.len || (name.len == 8 && !memcmp(name.at, "no_vocab", 8)) ||
	    (name.len == 4 && !memcmp(name.at, "none", 4)))
		return INFER_OK;
	TRY(infer_tokenizer_open(&m->tok, m->file, err));
	return find_bos(m, err);
}

int arch_fill(infer_model *m, const struct arch_keys *keys, int32_t ctx, infer_error *err)
{
	TRY(arch_hparam_read(&m->h, keys, err));
	int64_t from = clock_now_ns();
	TRY(open_tokenizer(m, err));
	m->tokenizer_ns = clock_now_ns() - from;
	TRY(arch_bind(m, err));
	TRY(arch_rope_init(m, ctx, err));
	TRY(arch_graph_build(m, err));
	TRY(arch_check_orders(m, err));
	return arch_check_used(m, err);
}

static int fill_gguf(infer_model *m, int32_t ctx, infer_error *err)
{
	TRY(find_arch(m, err));
	const struct arch_keys keys = arch_keys_gguf(m->file, m->arch);
	m->naming = ARCH_GGUF;
	return arch_fill(m, &keys, ctx, err);
}

/* Put the path before an error about a key or a tensor, unless the message has it. Returns rc. */
static int name_file(int rc, const char *path, infer_error *err)
{
	char why[sizeof err->message];

	if (!err || (rc != INFER_EFORMAT && rc != INFER_EUNSUP) ||
	    strstr(err->message, file_label(path)))
		return rc;
	memcpy(why, err->message, sizeof why);
	return err_set(err, rc, "%s: %s", path, why);
}

static int alloc_model(infer_model **out, const struct infer_model_opts *o, infer_error *err)
{
	infer_model *m;

	*out = NULL;
	if (o && o->ctx < 0)
		return err_set(err, INFER_EINVAL, "the context must not be negative, but is %d",
		               o->ctx);
	m = mem_zalloc(MEM_ARCH, 1, sizeof *m);
	if (!m)
		return err_set(err, INFER_ENOMEM, "out of memory for a model");
	arena_init(&m->arena, MEM_ARCH);
	graph_init(&m->graph);
	m->log = o ? o->log : NULL;
	m->log_user = o ? o->log_user : NULL;
	*out = m;
	return INFER_OK;
}

static void log_opening(const infer_model *m)
{
	struct infer_file_info info;
	char line[256];

	for (int i = 0; m->log && i < m->file->n_notes; i++)
		m->log(m->log_user, INFER_LOG_INFO, m->file->notes[i]);
	infer_file_info(m->file, &info);
	if (!info.packed_bytes || !m->log)
		return;
	snprintf(line, sizeof line,
	         "%s: compressed: unpacked to %.1f MiB of memory that no other process shares",
	         file_label(infer_file_path(m->file)), (double)info.private_bytes / (1 << 20));
	m->log(m->log_user, INFER_LOG_WARN, line);
}

int infer_model_open(infer_model **out, const char *path, const struct infer_model_opts *o,
                     infer_error *err)
{
	int64_t from = clock_now_ns();
	infer_model *m;
	int rc;

	*out = NULL;
	TRY(alloc_model(&m, o, err));
	rc = infer_file_open_watched(&m->own, path, o ? &o->watch : NULL, err);
	m->file = m->own;
	m->file_ns = clock_now_ns() - from;
	if (!rc)
		log_opening(m);
	if (!rc)
		rc = name_file(fill_gguf(m, o ? o->ctx : 0, err), path, err);
	m->open_ns = clock_now_ns() - from;
	if (rc)
		infer_model_close(&m);
	*out = m;
	return rc;
}

int infer_model_open_file(infer_model **out, const infer_file *file,
                          const struct infer_model_opts *o, infer_error *err)
{
	int64_t from = clock_now_ns();
	infer_model *m;
	int rc;

	*out = NULL;
	TRY(alloc_model(&m, o, err));
	m->file = file;
	rc = name_file(fill_gguf(m, o ? o->ctx : 0, err), infer_file_path(file), err);
	m->open_ns = clock_now_ns() - from;
	if (rc)
		infer_model_close(&m);
	*out = m;
	return rc;
}

void infer_model_close(infer_model **model)
{
	infer_model *m = *model;

	*model = NULL;
	if (!m)
		return;
	graph_fini(&m->graph);
	infer_tokenizer_close(&m->tok);
	arena_fini(&m->arena);
	infer_file_close(&m->own);
	mem_free(m);
}

static int is_head_mm_weight(const infer_model *m, int w)
{
	for (int i = 0; i < m->h.n_layers; i++)
		if (m->layer[i][W_K_B] == w || m->layer[i][W_V_B] == w)
			return 1;
	return 0;
}

/* Return the weight bytes read for one token: all matrices, but one row of an embedding table that
 * is not the output, and only the chosen experts. */
static uint64_t token_bytes(const infer_model *m)
{
	uint64_t sum = 0;

	for (int i = 0; i < m->n_weights; i++) {
		const struct weight *w = &m->weights[i];
		uint64_t bytes = (uint64_t)w->row_bytes * (uint64_t)w->ne[1] * (uint64_t)w->n;
		if ((i == m->global[W_TOKEN_EMBD] && m->global[W_OUTPUT] >= 0) ||
		    i == m->global[W_LAYER_EMBD])
			bytes /= (uint64_t)m->h.n_vocab;
		if (w->n > 1 && !is_head_mm_weight(m, i))
			bytes = bytes / (uint64_t)w->n * (uint64_t)m->h.n_expert_used;
		sum += bytes;
	}
	return sum;
}

/* Return the elements of K and V that the cache stores for a position. */
static uint64_t kv_elems(const struct arch_hparam *h)
{
	uint64_t sum = 0;

	for (int i = 0; i < h->n_layers; i++) {
		struct arch_heads head = arch_heads_of(h, i);
		if (arch_kv_layer(h, i) == i)
			sum += (uint64_t)h->kv_heads[i] *
			       (uint64_t)(head.dk + (h->kv_rank ? 0 : head.dv));
	}
	return sum;
}

void infer_model_info(const infer_model *m, struct infer_model_info *info)
{
	*info = (struct infer_model_info){
		.arch = m->arch->gguf,
		.name = { "", 0 },
		.n_vocab = m->h.n_vocab,
		.n_layers = m->h.n_layers,
		.n_embd = m->h.n_embd,
		.n_head = m->h.n_head,
		.n_head_kv = m->h.n_head_kv,
		.head_dim = m->h.dk,
		.n_ff = m->h.n_ff,
		.ctx_train = m->h.ctx_train,
		.n_expert = m->h.n_expert,
		.n_expert_used = m->h.n_expert_used,
		.n_embedding = arch_width(m),
		.n_ranks = m->h.n_ranks,
		.is_encoder = m->h.bidirectional,
		.n_params = m->n_params,
		.weight_bytes = m->weight_bytes,
		.token_bytes = token_bytes(m),
		.private_bytes = m->private_bytes,
		.file_ns = m->file_ns,
		.tokenizer_ns = m->tokenizer_ns,
		.open_ns = m->open_ns,
		.kv_elems = kv_elems(&m->h),
	};
	if (infer_meta_str(m->file, "general.name", &info->name, NULL, NULL))
		info->name = (struct infer_str){ "", 0 };
}

const infer_file *infer_model_file(const infer_model *m) { return m->file; }
const infer_tokenizer *infer_model_tokenizer(const infer_model *m) { return m->tok; }
int infer_model_adds_bos(const infer_model *m) { return m->adds_bos; }
