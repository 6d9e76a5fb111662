/* infer-run/tokenize.c - --tokenize, --detokenize and --render. */
#include "prompt.h"
#include "common/say.h"
#include "common/sig.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/sandbox.h"

#include <string.h>

/* The tokenizer of a model file of any architecture, which may have no tensors. */
struct vocab {
	infer_file *file;
	infer_tokenizer *tok;
};

static int vocab_open(struct vocab *v, const struct run_opts *o, infer_error *err)
{
	const char *path;

	*v = (struct vocab){ 0 };
	TRY(model_path(&path, o->model, MODEL_DEMO, err));
	sig_mapped(path);
	TRY(run_confine(o, SANDBOX_READ, err));
	TRY(infer_file_open_watched(&v->file, path, &model_watch, err));
	return infer_tokenizer_open(&v->tok, v->file, err);
}

static void vocab_close(struct vocab *v)
{
	infer_tokenizer_close(&v->tok);
	infer_file_close(&v->file);
	sig_mapped(NULL);
}

static int write_ids(const int32_t *ids, size_t n, infer_error *err)
{
	struct buf b;
	int rc;

	buf_init(&b, MEM_BASE);
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%d", i ? " " : "", (int)ids[i]);
	buf_putc(&b, '\n');
	rc = b.bad ? err_set(err, INFER_ENOMEM, "out of memory for %zu ids", n)
	           : say_out(b.at, b.len, err);
	buf_fini(&b);
	return rc;
}

int tokenize(const struct run_opts *o, const struct opt_rest *rest)
{
	infer_error err = { 0 };
	struct vocab v;
	struct buf text = { 0 };
	int32_t *ids = NULL;
	size_t n = 0;
	int rc = vocab_open(&v, o, &err);

	if (!rc)
		rc = prompt_read(&text, o, rest, NULL, &err);
	if (!rc)
		rc = run_confine(o, 0, &err);
	if (!rc)
		rc = infer_encode(v.tok, text.at ? text.at : "", text.len,
		                  (o->special ? INFER_ENCODE_SPECIAL : 0u) |
		                          (o->bos ? INFER_ENCODE_ADD : 0u),
		                  &ids, &n, &err);
	if (!rc)
		rc = write_ids(ids, n, &err);
	infer_ids_free(ids);
	buf_fini(&text);
	vocab_close(&v);
	return rc ? say_fail(&err) : EXIT_DONE;
}

/* Print the prompt with its template applied, and a newline. If infer-run reads this output as a prompt, it
 * removes the newline. */
int render(const struct run_opts *o, const struct opt_rest *rest)
{
	infer_error err = { 0 };
	struct prompt p = { 0 };
	struct vocab v;
	int rc = vocab_open(&v, o, &err);

	if (!rc)
		rc = prompt_take(&p, o, rest, v.file, v.tok, NULL, &err);
	if (!rc)
		rc = run_confine(o, 0, &err);
	if (!rc)
		rc = chat_named(o->chat.messages, prompt_render(&p, v.tok, &err), &err);
	if (!rc)
		rc = say_out(p.text ? p.text : "", p.n, &err);
	if (!rc)
		rc = say_out("\n", 1, &err);
	prompt_fini(&p);
	vocab_close(&v);
	return rc ? say_fail(&err) : EXIT_DONE;
}

/* Decoded bytes that are not written yet. */
struct bytes {
	infer_detok *d;
	struct buf out;
};
enum { BYTES_AT_ONCE = 1 << 16 };

static int put_id(struct bytes *b, int64_t id, infer_error *err)
{
	const char *at;
	size_t n;

	if (id < 0 || id > INT32_MAX)
		return err_set(err, INFER_EINVAL, "%lld is not a token id", (long long)id);
	TRY(infer_detok_put(b->d, (int32_t)id, &at, &n, err));
	buf_put(&b->out, at, n);
	if (b->out.bad)
		return err_set(err, INFER_ENOMEM, "out of memory for the text");
	if (b->out.len < BYTES_AT_ONCE)
		return INFER_OK;
	int rc = say_out(b->out.at, b->out.len, err);

	buf_clear(&b->out);
	return rc;
}

/* Decode the id of a record of kind "token"; other records are skipped. */
static int put_record(struct bytes *b, const char *line, size_t n, infer_error *err)
{
	const char *kind = "", *want = infer_record_kind(INFER_KIND_TOKEN)->name;
	size_t kind_bytes = 0;
	int64_t id = -1;
	const struct json *o;
	struct arena mem;

	arena_init(&mem, MEM_BASE);
	int rc = jread(&o, &mem, line, n, "record", err);

	if (!rc)
		rc = jread_str(o, "kind", &kind, &kind_bytes, "record", err);

	if (!rc && kind_bytes == strlen(want) && !memcmp(kind, want, kind_bytes)) {
		rc = jread_i64(o, "id", &id, 0, INT32_MAX, "token record", err);
		if (!rc)
			rc = id < 0 ? err_set(err, INFER_EFORMAT, "token record: no id")
			            : put_id(b, id, err);
	}
	arena_fini(&mem);
	return rc;
}

/* Decode ids separated by white space. */
static int put_words(struct bytes *b, const char *at, size_t n, infer_error *err)
{
	static const char space[] = " \t\r\n\v\f";

	for (size_t i = 0; i < n;) {
		size_t from = i;
		int64_t id = 0;

		for (; i < n && !memchr(space, at[i], sizeof space - 1); i++) {
			if (at[i] < '0' || at[i] > '9' || id > INT32_MAX)
				return err_set(err, INFER_EINVAL, "'%.*s' is not a token id",
				               (int)(n - from < 24 ? n - from : 24), at + from);
			id = 10 * id + at[i] - '0';
		}
		if (i > from)
			TRY(put_id(b, id, err));
		i++;
	}
	return INFER_OK;
}

static int put_ids_text(struct bytes *b, const char *at, size_t n, infer_error *err)
{
	const char *bytes;
	size_t n_bytes;

	while (n) {
		const char *end = memchr(at, '\n', n);
		size_t line = end ? (size_t)(end - at) : n, indent = 0;

		while (indent < line && (at[indent] == ' ' || at[indent] == '\t'))
			indent++;
		TRY(indent < line && at[indent] == '{' ? put_record(b, at, line, err)
		                                       : put_words(b, at, line, err));
		at += end ? line + 1 : line;
		n -= end ? line + 1 : line;
	}
	TRY(infer_detok_end(b->d, &bytes, &n_bytes, err));
	buf_put(&b->out, bytes, n_bytes);
	if (b->out.bad)
		return err_set(err, INFER_ENOMEM, "out of memory for the text");
	return b->out.len ? say_out(b->out.at, b->out.len, err) : INFER_OK;
}

int detokenize(const struct run_opts *o, const struct opt_rest *rest)
{
	infer_error err = { 0 };
	struct vocab v;
	struct buf text = { 0 };
	struct bytes b = { 0 };
	int rc = vocab_open(&v, o, &err);

	buf_init(&b.out, MEM_BASE);
	if (!rc)
		rc = prompt_read(&text, o, rest, NULL, &err);
	if (!rc)
		rc = run_confine(o, 0, &err);
	if (!rc)
		rc = infer_detok_new(&b.d, v.tok, o->special ? INFER_DECODE_SPECIAL : 0u, -1, &err);
	if (!rc)
		rc = put_ids_text(&b, text.at, text.len, &err);
	infer_detok_free(b.d);
	buf_fini(&b.out);
	buf_fini(&text);
	vocab_close(&v);
	return rc ? say_fail(&err) : EXIT_DONE;
}
