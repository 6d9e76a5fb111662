/* tok/pipe.c - read a pipe from the keys tokenizer.infer.* of a file. */
#include "tok/pipe.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/num.h"
#include "file/file.h"

#include <string.h>

#define KEY(x) "tokenizer.infer." x

/* most bytes of a JSON text */
enum { TREE_MAX = 1 << 20 };

static int pipe_nomem(const char *name, infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "%s: no memory for the tokenizer", name);
}

/* Parse the JSON text of a key; *out NULL if it is absent. */
static int parse_key(const struct infer_file *f, const char *key, struct arena *a,
                     const struct json **out, infer_error *err)
{
	struct infer_str s;
	int found;

	*out = NULL;
	TRY(infer_meta_str(f, key, &s, &found, err));
	if (found && s.len > TREE_MAX)
		return err_set(err, INFER_EUNSUP,
		               "key %s: %zu bytes, and more than %d are not supported", key, s.len,
		               TREE_MAX);
	return found ? jread(out, a, s.at, s.len, key, err) : INFER_OK;
}

int pipe_model(const struct infer_file *f, const struct tok_model **model, infer_error *err)
{
	const struct json *v, *type;
	struct arena a;

	arena_init(&a, MEM_TOK);
	int rc = parse_key(f, KEY("model"), &a, &v, err);
	type = json_get(v, "type");
	*model = json_equals(type, "BPE")         ? tok_model_find("gpt2", 4)
	         : json_equals(type, "Unigram")   ? tok_model_find("t5", 2)
	         : json_equals(type, "WordPiece") ? tok_model_find("bert", 4)
	                                          : NULL;
	arena_fini(&a);
	return rc;
}

/* Refuse an unknown member of the model. */
static int check_model_member(const struct json *m, const char *name, infer_error *err)
{
	static const char *const known[] = { "type",
		                             "unk_token",
		                             "fuse_unk",
		                             "byte_fallback",
		                             "ignore_merges",
		                             "unk_id",
		                             "dropout",
		                             "vocab",
		                             "merges",
		                             "continuing_subword_prefix",
		                             "end_of_word_suffix",
		                             "max_input_chars_per_word" };
	char quoted[FILE_QUOTE];

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (m->key_n == strlen(known[i]) && !memcmp(m->key, known[i], m->key_n))
			return INFER_OK;
	return err_set(err, INFER_EUNSUP, "%s: model.%s is not supported", name,
	               file_quote(quoted, m->key, m->key_n));
}

static int read_unknown(const struct infer_tokenizer *t, const struct json *o, const char *name,
                        infer_error *err)
{
	const struct json *text = json_get(o, "unk_token");
	char quoted[FILE_QUOTE];
	int64_t id = -1;

	TRY(jread_i64(o, "unk_id", &id, 0, (int64_t)t->piece.n - 1, name, err));
	if (json_is_string(text)) {
		id = -1;
		/* pieces of WordPiece that begin a word start with U+2581, control tokens do not */
		for (uint32_t i = 0; i < t->piece.n && id < 0; i++) {
			const char *s = t->piece.base + t->piece.at[i].at;
			size_t n = t->piece.at[i].len, mark = n == text->n + 3 ? 3 : 0;
			if (mark && (t->model->pre || memcmp(s, TOK_SPACE, 3)))
				continue;
			if (n == text->n + mark && !memcmp(s + mark, text->s, text->n))
				id = i;
		}
		if (id < 0)
			return err_set(err, INFER_EFORMAT,
			               "%s: model.unk_token %s is not in the vocabulary", name,
			               file_quote(quoted, text->s, text->n));
	} else if (text && !json_is_null(text)) {
		return err_set(err, INFER_EFORMAT, "%s: model.unk_token must be a string", name);
	}
	t->pipe->unk = (int32_t)id;
	return INFER_OK;
}

static int read_pipe_model(struct infer_tokenizer *t, const struct json *o, const char *name,
                           infer_error *err)
{
	const struct json *prefix = json_get(o, "continuing_subword_prefix"),
			  *suffix = json_get(o, "end_of_word_suffix");
	int word_piece = !t->model->pre && !t->model->scored;
	int64_t chars = 100;

	json_each(m, o)
		TRY(check_model_member(m, name, err));
	if (json_bytes(suffix) || (json_bytes(prefix) && !word_piece))
		return err_set(err, INFER_EUNSUP, "%s: model.%s is not supported", name,
		               json_bytes(suffix) ? "end_of_word_suffix"
		                                  : "continuing_subword_prefix");
	TRY(jread_i64(o, "max_input_chars_per_word", &chars, 0, INT32_MAX, name, err));
	t->pipe->word_chars = (uint32_t)chars;
	t->pipe->byte_fallback = json_is(json_get(o, "byte_fallback"), JSON_TRUE);
	/* unigram always fuses unknown characters; it has no member fuse_unk */
	t->pipe->fuse_unk = !t->model->pre && t->model->scored
	                            ? 1
	                            : json_is(json_get(o, "fuse_unk"), JSON_TRUE);
	t->whole = json_is(json_get(o, "ignore_merges"), JSON_TRUE);
	return read_unknown(t, o, name, err);
}

/* Choose the alphabet of the model's pieces: bytes, letters of the byte alphabet, or text. */
static void choose_alphabet(struct infer_tokenizer *t)
{
	const struct tok_pipe *p = t->pipe;
	int at = -1;

	for (int i = 0; i < p->n_pre; i++)
		if (p->pre[i].kind == PIPE_BYTES)
			at = i;
	t->letters = t->model->pre && at >= 0 && at + 1 < p->n_pre;
	t->raw = at < 0;
}

static int read_added(struct infer_tokenizer *t, const struct infer_file *f, const char *name,
                      infer_error *err)
{
	const struct infer_meta *ids = infer_file_meta(f, KEY("added.ids")),
				*flags = infer_file_meta(f, KEY("added.flags")),
				*text = infer_file_meta(f, KEY("added.content"));
	struct tok_pipe *p = t->pipe;
	size_t cursor = 0, n_flags = 0;
	const unsigned char *flag = NULL;

	if (!ids || !flags || !text)
		return INFER_OK;
	if (ids->type != INFER_META_ARR || flags->type != INFER_META_ARR ||
	    text->type != INFER_META_ARR || flags->elem_type != INFER_META_U8 ||
	    text->elem_type != INFER_META_STR || ids->count != flags->count ||
	    ids->count != text->count || ids->count > t->piece.n)
		return err_set(err, INFER_EFORMAT,
		               "%s: the keys " KEY("added.*") " are not arrays of one length",
		               name);
	TRY(infer_meta_bytes(f, flags, &flag, &n_flags, err));
	if (p)
		p->added = arena_alloc(&p->arena, ids->count + 1, sizeof *p->added);
	if (p && !p->added)
		return pipe_nomem(name, err);
	for (uint32_t i = 0; i < ids->count; i++) {
		int32_t room;
		const void *at;
		struct infer_str s;
		TRY(infer_meta_array(f, ids, INFER_META_I32, i, 1, &room, &at, err));
		int32_t id = (int32_t)num_u32(at);
		if (id < 0 || (uint32_t)id >= t->piece.n)
			return err_set(err, INFER_EFORMAT,
			               "%s: key " KEY("added.ids") ": %d is not a token", name, id);
		t->flag[id] |=
			(uint8_t)((flag[i] & 1 ? TOK_LSTRIP : 0) | (flag[i] & 2 ? TOK_RSTRIP : 0) |
		                  (flag[i] & 4 ? TOK_WORD : 0) |
		                  (p && flag[i] & 16 ? TOK_OUTSIDE : 0));
		infer_meta_next_str(text, &cursor, &s);
		if (p)
			p->added[p->n_added++] = (struct pipe_added){ id, s, (flag[i] & 8) != 0 };
	}
	return INFER_OK;
}

/* Read scores that floats cannot represent. */
static int read_scores(struct infer_tokenizer *t, const struct infer_file *f, const char *name,
                       infer_error *err)
{
	const struct infer_meta *m = infer_file_meta(f, KEY("scores"));
	double *to;
	const void *at;

	if (!m || !t->model->scored)
		return INFER_OK;
	if (m->type != INFER_META_ARR || m->count != t->piece.n)
		return err_set(err, INFER_EFORMAT,
		               "%s: key " KEY("scores") " is no array of %u numbers", name,
		               t->piece.n);
	to = arena_raw(&t->pipe->arena, ((size_t)t->piece.n + 1) * sizeof *to);
	if (!to)
		return pipe_nomem(name, err);
	TRY(infer_meta_array(f, m, INFER_META_F64, 0, m->count, to, &at, err));
	if (at != to)
		memcpy(to, at, m->count * sizeof *to);
	for (uint32_t i = 0; i < t->piece.n; i++)
		if (to[i] != to[i])
			return err_set(
				err, INFER_EFORMAT,
				"%s: key " KEY("scores") ": the score of token %u is not a number",
				name, i);
	t->pipe->score = to;
	return INFER_OK;
}

/* Read one decoder.  *fused: true if an earlier decoder joined the pieces into one string. */
static int read_decode_step(struct infer_tokenizer *t, const struct json *v, int *fused,
                            const char *name, infer_error *err)
{
	const struct json *type = json_get(v, "type"), *scheme = json_get(v, "prepend_scheme"),
			  *from = json_get(json_get(v, "pattern"), "String");
	char quoted[FILE_QUOTE];

	if (json_equals(type, "Strip") && json_equals(json_get(v, "content"), " ") &&
	    json_double(json_get(v, "start")) <= 1 && json_double(json_get(v, "stop")) == 0)
		t->add_space |= json_double(json_get(v, "start")) == 1;
	else if (json_equals(type, "Metaspace") && !*fused)
		t->add_space |= scheme ? !json_equals(scheme, "never")
		                       : !json_is(json_get(v, "add_prefix_space"), JSON_FALSE);
	else if (json_equals(type, "Fuse"))
		*fused = 1;
	else if (!(json_equals(type, "Replace") && json_equals(from, TOK_SPACE) &&
	           json_equals(json_get(v, "content"), " ")) &&
	         !json_equals(type, "ByteLevel") && !json_equals(type, "ByteFallback") &&
	         !json_equals(type, "WordPiece"))
		return err_set(err, INFER_EUNSUP,
		               "%s: decoder.%s with these members, or in this place, is "
		               "not supported",
		               name, file_quote(quoted, json_str(type), json_bytes(type)));
	return INFER_OK;
}

/* Read the decoder.  All known kinds decode U+2581 and the byte alphabet as the model does; some
 * also drop a space at the start. */
static int read_decoder(struct infer_tokenizer *t, const struct json *o, const char *name,
                        infer_error *err)
{
	const struct json *list = json_get(o, "decoders");
	int fused = 0;

	t->add_space = 0;
	if (!o || json_is_null(o))
		return INFER_OK;
	if (!json_equals(json_get(o, "type"), "Sequence"))
		return read_decode_step(t, o, &fused, name, err);
	json_each(v, list)
		TRY(read_decode_step(t, v, &fused, name, err));
	return INFER_OK;
}

static int read_pipe(struct infer_tokenizer *t, const struct infer_file *f, struct arena *trees,
                     const char *name, infer_error *err)
{
	const struct json *norm, *pre, *options, *decode;
	struct tok_pipe *p = t->pipe;

	TRY(parse_key(f, KEY("normalizer"), trees, &norm, err));
	TRY(parse_key(f, KEY("pre_tokenizer"), trees, &pre, err));
	TRY(parse_key(f, KEY("model"), trees, &options, err));
	TRY(parse_key(f, KEY("decoder"), trees, &decode, err));
	TRY(read_pipe_model(t, options, name, err));
	TRY(pipe_steps(p, norm, pre, name, err));
	TRY(read_scores(t, f, name, err));
	choose_alphabet(t);
	return read_decoder(t, decode, name, err);
}

/* Read the tokens before and after a text. */
static int read_around(struct infer_tokenizer *t, const struct infer_file *f, const char *name,
                       infer_error *err)
{
	static const char *const key[] = { KEY("prefix"), KEY("suffix") };
	const struct infer_meta *m[2];
	uint64_t n[2] = { 0 };
	const void *at;

	for (int i = 0; i < 2; i++) {
		m[i] = infer_file_meta(f, key[i]);
		n[i] = m[i] ? m[i]->count : 0;
		if (m[i] && (m[i]->type != INFER_META_ARR || m[i]->count > 64))
			return err_set(err, INFER_EFORMAT,
			               "%s: key %s must be an array of at most 64 ids", name,
			               key[i]);
	}
	if (!m[0] && !m[1])
		return INFER_OK;
	t->around = mem_alloc(MEM_TOK, (size_t)(n[0] + n[1]) + 1, sizeof *t->around);
	if (!t->around)
		return pipe_nomem(name, err);
	t->n_before = (uint32_t)n[0];
	t->n_after = (uint32_t)n[1];
	for (int i = 0; i < 2; i++) {
		int32_t *to = t->around + (i ? n[0] : 0);
		if (!n[i])
			continue;
		TRY(infer_meta_array(f, m[i], INFER_META_I32, 0, n[i], to, &at, err));
		memmove(to, at, (size_t)n[i] * sizeof *to);
		for (uint64_t k = 0; k < n[i]; k++)
			if (to[k] < 0 || (uint32_t)to[k] >= t->piece.n)
				return err_set(err, INFER_EFORMAT, "%s: key %s: %d is not a token",
				               name, key[i], to[k]);
	}
	return INFER_OK;
}

int pipe_open(struct infer_tokenizer *t, const struct infer_file *f, infer_error *err)
{
	const char *name = file_label(infer_file_path(f));
	struct arena trees;
	int rc = INFER_OK;

	if (infer_file_meta(f, KEY("model"))) {
		t->pipe = mem_zalloc(MEM_TOK, 1, sizeof *t->pipe);
		if (!t->pipe)
			return pipe_nomem(name, err);
		arena_init(&t->pipe->arena, MEM_TOK);
		arena_init(&trees, MEM_TOK);
		rc = read_pipe(t, f, &trees, name, err);
		arena_fini(&trees);
	}
	if (!rc)
		rc = read_around(t, f, name, err);
	return rc ? rc : read_added(t, f, name, err);
}

/* Build an automaton of added tokens.  which 0: those matched in the original text; 1: those
 * matched in normalised text; 2: all. */
static int build_automaton(struct infer_tokenizer *t, struct tok_added *a, int which)
{
	struct tok_pipe *p = t->pipe;
	struct tok_entry *e = mem_alloc(MEM_TOK, (size_t)p->n_added + 1, sizeof *e);
	uint32_t n = 0;

	if (!e)
		return INFER_ENOMEM;
	for (uint32_t i = 0; i < p->n_added; i++) {
		struct infer_str s = p->added[i].content;
		if (which != 2 && p->added[i].normalized != which)
			continue;
		if (which == 1 && pipe_normal_all(t, &p->arena, &s)) {
			mem_free(e);
			return INFER_ENOMEM;
		}
		e[n++] = (struct tok_entry){ s.at, (uint32_t)s.len, p->added[i].id };
	}
	return tok_added_of(a, t, e, n);
}

int pipe_settle(struct infer_tokenizer *t)
{
	TRY(build_automaton(t, &t->pipe->plain, 0));
	TRY(build_automaton(t, &t->pipe->normal, 1));
	return build_automaton(t, &t->added, 2);
}

void pipe_free(struct tok_pipe *p)
{
	if (!p)
		return;
	for (int i = 0; i < PIPE_STEPS; i++) {
		pretok_free(p->norm[i].code);
		pretok_free(p->pre[i].code);
	}
	tok_added_free(&p->plain);
	tok_added_free(&p->normal);
	arena_fini(&p->arena);
	mem_free(p);
}
