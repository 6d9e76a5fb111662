/* infer-inspect/about.c - the description of a model: dimensions, weight types, vocabulary,
 * abilities of its template, licence. */
#include "inspect.h"
#include <infer/plan.h>
#include <infer/reply.h>
#include <infer/token.h>
#include "common/chat.h"
#include "common/stored.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 79, HEAD = 11, TYPES = 4 };

struct by_type {
	uint64_t bytes, elements;
	int type;
};

/* Fill `all` with the weight types of the file, sorted by bytes, largest first.  Returns their
 * number. */
static int types_of(struct by_type all[INFER_TYPE_COUNT], const infer_file *f)
{
	const struct infer_tensor *t;
	int n = 0;

	for (int i = 0; i < INFER_TYPE_COUNT; i++)
		all[i] = (struct by_type){ .type = i };
	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++) {
		all[t->type].bytes += t->bytes;
		all[t->type].elements += (uint64_t)t->ne[0] * (uint64_t)t->ne[1] *
		                         (uint64_t)t->ne[2] * (uint64_t)t->ne[3];
	}
	for (int i = 0; i < INFER_TYPE_COUNT; i++)
		for (int k = i; k > 0 && all[k].bytes > all[k - 1].bytes; k--) {
			struct by_type swap = all[k];
			all[k] = all[k - 1];
			all[k - 1] = swap;
		}
	while (n < INFER_TYPE_COUNT && all[n].bytes)
		n++;
	return n;
}

static void put_types(struct buf *out, const infer_file *f)
{
	struct by_type all[INFER_TYPE_COUNT];
	uint64_t sum = 0;
	int n = types_of(all, f);

	for (int i = 0; i < n; i++)
		sum += all[i].bytes;
	buf_puts(out, "types     ");
	for (int i = 0; i < n && i < TYPES; i++)
		buf_printf(out, "%s %s %.1f %%", i ? "," : "", infer_type_info(all[i].type)->name,
		           100 * (double)all[i].bytes / (double)sum);
	if (n > TYPES)
		buf_printf(out, " and %d more", n - TYPES);
	buf_putc(out, '\n');
}

/* Quantisation of the checkpoint that the file was converted from. */
struct origin {
	struct infer_str method; /* method.at NULL: it was not quantised */
	int64_t bits, group, kinds;
	int zeros;
};

static int read_int(const infer_file *f, const char *key, int64_t *v)
{
	const struct infer_meta *m = infer_file_meta(f, key);

	return m && !infer_meta_elem_i64(f, m, 0, v, NULL);
}

static struct origin origin_of(const infer_file *f)
{
	struct origin o = { { NULL, 0 }, 0, 0, 0, 0 };
	int found = 0;

	if (infer_meta_str(f, "general.source.quantization.method", &o.method, &found, NULL) ||
	    !found || !read_int(f, "general.source.quantization.bits", &o.bits) ||
	    !read_int(f, "general.source.quantization.group_size", &o.group) ||
	    !read_int(f, "general.source.quantization.kinds", &o.kinds) ||
	    infer_meta_bool(f, "general.source.quantization.zero_points", &o.zeros, &found, NULL) ||
	    !found)
		o.method.at = NULL;
	return o;
}

static void put_origin(struct buf *out, const infer_file *f)
{
	struct origin o = origin_of(f);

	if (!o.method.at)
		return;
	buf_puts(out, "source     ");
	put_plain(out, o.method, 24);
	buf_printf(out, ", %lld bits, ", (long long)o.bits);
	if (o.group > 0)
		buf_printf(out, "groups of %lld, ", (long long)o.group);
	else
		buf_puts(out, o.group ? "one scale per tensor, " : "one scale per row, ");
	buf_puts(out, o.zeros ? "zero points" : "symmetric");
	if (o.kinds > 1)
		buf_printf(out, "; the most of %lld kinds", (long long)o.kinds);
	buf_putc(out, '\n');
}

static void put_origin_json(struct jwrite *w, const infer_file *f)
{
	struct origin o = origin_of(f);

	if (!o.method.at)
		return;
	jw_object(w, "source");
	jw_strn(w, "method", o.method.at, o.method.len);
	jw_int(w, "bits", o.bits);
	jw_int(w, "group_size", o.group);
	jw_bool(w, "zero_points", o.zeros);
	jw_int(w, "kinds", o.kinds);
	jw_end(w);
}

/* Return the number of active parameters: the weights used for one token. */
static double active_params(const struct infer_shape *s)
{
	double idle = 0;

	for (int i = 0; i < s->n_work; i++)
		if (s->work[i].kind == INFER_WORK_EXPERTS)
			idle += (double)s->work[i].n * (double)s->work[i].k * s->work[i].times *
			        (s->work[i].experts - s->work[i].used);
	return s->params - idle;
}

static void put_shape(struct buf *out, const struct infer_model_info *m, const infer_model *model)
{
	struct infer_shape s;

	buf_printf(out, "shape      width %d, %d heads of %d, %d of keys, ff %d\n", (int)m->n_embd,
	           (int)m->n_head, (int)m->head_dim, (int)m->n_head_kv, (int)m->n_ff);
	if (!m->n_expert || infer_shape_of(&s, model, NULL))
		return;
	double n = active_params(&s);
	buf_printf(out, "experts    %d, of which a token takes %d: %.*f %s active\n",
	           (int)m->n_expert, (int)m->n_expert_used, n < 1e9 ? 1 : 2,
	           n * (n < 1e9 ? 1e-6 : 1e-9), n < 1e9 ? "million" : "billion");
}

static void put_token(struct buf *out, const infer_tokenizer *t, const char *what, int32_t id,
                      size_t from)
{
	struct infer_token_info info;

	if (id < 0 || infer_token_info(t, id, &info, NULL))
		return;
	if (out->len - from + info.piece.len + strlen(what) + 11 > COLUMNS)
		return;
	buf_printf(out, "; %s %d ", what, (int)id);
	put_plain(out, info.piece, 24);
}

static void put_vocabulary(struct buf *out, const infer_tokenizer *t)
{
	size_t from = out->len;
	int32_t eos = infer_token_special(t, INFER_EOS), eot = infer_token_special(t, INFER_EOT);

	buf_printf(out, "vocabulary %d tokens, %s", (int)infer_tokenizer_count(t),
	           infer_tokenizer_kind(t));
	put_token(out, t, "begin", infer_token_special(t, INFER_BOS), from);
	put_token(out, t, "end", eos, from);
	if (eot != eos)
		put_token(out, t, "end of turn", eot, from);
	buf_putc(out, '\n');
}

static void put_template(struct buf *out, const infer_file *f)
{
	static const struct chat_args none = CHAT_ARGS;
	const char *calls, *reasoning;
	struct infer_chat_caps can;
	infer_error err;
	struct chat c = { 0 };

	const char *stored = stored_template(infer_file_path(f));

	buf_puts(out, "template  ");
	if (stored && !*stored && !infer_file_meta(f, "tokenizer.chat_template")) {
		buf_puts(out, " a Go template of no known family");
	} else if (chat_take(&c, &none, f, NULL, &err)) {
		buf_printf(out, " damaged: %.50s", err.message);
	} else if (!c.template) {
		buf_puts(out, " none");
	} else {
		infer_chat_caps(c.template, &can);
		infer_reply_format(c.template, &calls, &reasoning);
		buf_printf(out, "%s%s%s%s", can.system ? " system" : "", can.tools ? " tools" : "",
		           can.results ? " results" : "", can.thinking ? " thinking" : "");
		buf_printf(out, "; answers: %s, %s", calls, reasoning);
	}
	buf_putc(out, '\n');
	chat_fini(&c);
}

static void put_licence(struct buf *out, const infer_file *f)
{
	const struct infer_meta *m = infer_file_meta(f, "general.license");
	size_t cursor = 0;

	if (!m || m->count != 1)
		return;
	buf_puts(out, "licence    ");
	if (put_meta_element(out, NULL, f, m, 0, &cursor, COLUMNS - HEAD - 20, NULL))
		buf_puts(out, "unreadable");
	buf_putc(out, '\n');
}

void put_about(struct buf *out, const infer_file *f, const infer_model *model)
{
	struct infer_model_info m;

	if (model) {
		infer_model_info(model, &m);
		put_shape(out, &m, model);
	}
	put_types(out, f);
	put_origin(out, f);
	if (model && infer_model_tokenizer(model))
		put_vocabulary(out, infer_model_tokenizer(model));
	put_template(out, f);
	put_licence(out, f);
}

void put_about_json(struct jwrite *w, const infer_file *f, const infer_model *model)
{
	struct by_type all[INFER_TYPE_COUNT];
	struct infer_model_info m;
	struct infer_shape s;
	int n = types_of(all, f);

	jw_array(w, "types");
	for (int i = 0; i < n; i++) {
		jw_object(w, NULL);
		jw_str(w, "type", infer_type_info(all[i].type)->name);
		jw_uint(w, "size_bytes", all[i].bytes);
		jw_uint(w, "elements", all[i].elements);
		jw_end(w);
	}
	jw_end(w);
	put_origin_json(w, f);
	if (!model || infer_shape_of(&s, model, NULL))
		return;
	infer_model_info(model, &m);
	jw_object(w, "model");
	jw_str(w, "arch", m.arch);
	jw_num(w, "params", s.params);
	jw_num(w, "active_params", active_params(&s));
	jw_int(w, "layers", m.n_layers);
	jw_int(w, "width", m.n_embd);
	jw_int(w, "heads", m.n_head);
	jw_int(w, "kv_heads", m.n_head_kv);
	jw_int(w, "head_dim", m.head_dim);
	jw_int(w, "ff", m.n_ff);
	jw_int(w, "ctx", m.ctx_train);
	jw_int(w, "vocab", m.n_vocab);
	jw_int(w, "experts", m.n_expert);
	jw_int(w, "experts_used", m.n_expert_used);
	jw_end(w);
}
