/* infer-inspect/tokens.c - the tokens of a text. */
#include "inspect.h"
#include "common/confine.h"
#include "common/input.h"
#include <infer/token.h>
#include "base/err.h"
#include "base/utf8.h"

static const char *const kinds[] = { "?",      "normal", "unknown", "control", "user-defined",
	                             "unused", "byte" };

static const char *kind_name(int kind)
{
	return kind > 0 && kind < (int)(sizeof kinds / sizeof *kinds) ? kinds[kind] : kinds[0];
}

/* Append a record of kind "token", in the form of infer-run -o tokens, which infer-run
 * --detokenize reads. */
static void put_token_json(struct buf *out, size_t i, int32_t id,
                           const struct infer_token_info *info, struct infer_str text)
{
	struct jwrite w;

	infer_record_open(&w, out, INFER_KIND_TOKEN, i ? 0 : INFER_RECORD_FIRST);
	jw_uint(&w, "i", i);
	jw_int(&w, "id", id);
	if (utf8_check(text.at, text.len) == text.len)
		jw_strn(&w, "text", text.at, text.len);
	else
		jw_base64(&w, "text_b64", text.at, text.len);
	jw_strn(&w, "piece", info->piece.at, info->piece.len);
	jw_str(&w, "type", kind_name(info->kind));
	jw_num(&w, "score", (double)info->score);
	infer_record_close(&w);
}

static int put_token_rows(struct buf *out, const struct inspect_opts *o, const infer_tokenizer *t,
                          const int32_t *ids, size_t n, infer_error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct infer_token_info info;
		struct infer_str text;

		TRY(infer_token_info(t, ids[i], &info, err));
		TRY(infer_token_bytes(t, ids[i], INFER_DECODE_SPECIAL, &text.at, &text.len, err));
		if (o->json) {
			put_token_json(out, i, ids[i], &info, text);
			continue;
		}
		buf_printf(out, "%7d  %-12s  ", (int)ids[i], kind_name(info.kind));
		put_plain(out, info.piece, SIZE_MAX);
		buf_putc(out, '\n');
	}
	return INFER_OK;
}

int tokens(struct buf *out, const struct inspect_opts *o, const infer_file *file,
           const struct opt_rest *words, infer_error *err)
{
	infer_tokenizer *t = NULL;
	struct buf text;
	int32_t *ids = NULL;
	size_t n = 0;

	buf_init(&text, MEM_BASE);
	int rc = input_read(&text, words, &o->files,
	                    (o->no_stdin ? INPUT_NO_STDIN : 0u) | (o->raw ? INPUT_RAW : 0u), NULL,
	                    err);

	if (!rc)
		rc = confine(CONFINE_TRY, 0, err);
	if (!rc)
		rc = infer_tokenizer_open(&t, file, err);
	if (!rc)
		rc = infer_encode(t, text.at ? text.at : "", text.len,
		                  (o->special ? INFER_ENCODE_SPECIAL : 0u) |
		                          (o->bos ? INFER_ENCODE_ADD : 0u),
		                  &ids, &n, err);
	if (!rc)
		rc = put_token_rows(out, o, t, ids, n, err);
	infer_ids_free(ids);
	infer_tokenizer_close(&t);
	buf_fini(&text);
	return rc;
}
