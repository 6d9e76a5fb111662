/* infer-serve/endpoints/ollama_show.c - Ollama's POST /api/show: a model with its metadata. */
#include <infer/param.h>
#include "infer-serve/endpoints/ollama.h"
#include "common/chat.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <string.h>

endpoint_fn ep_ollama_show;

/* ---- metadata ---- */

/* Write element i of a value. Strings are read in order: *cursor is 0 at first. */
static int put_meta_element(struct jwrite *w, const char *key, const infer_file *f,
                            const struct infer_meta *m, uint64_t i, size_t *cursor)
{
	struct infer_str s;
	const void *at;
	uint64_t u;
	int64_t n;
	double x;

	switch (m->elem_type) {
	case INFER_META_STR:
		TRY(infer_meta_next_str(m, cursor, &s));
		jw_strn(w, key, s.len ? s.at : "", s.len);
		return INFER_OK;
	case INFER_META_F32:
	case INFER_META_F64:
		TRY(infer_meta_elem_f64(f, m, i, &x, NULL));
		jw_num(w, key, x);
		return INFER_OK;
	case INFER_META_U64:
	case INFER_META_BOOL:
		TRY(infer_meta_array(f, m, INFER_META_U64, i, 1, &u, &at, NULL));
		memcpy(&u, at, sizeof u);
		if (m->elem_type == INFER_META_BOOL)
			jw_bool(w, key, u != 0);
		else
			jw_uint(w, key, u);
		return INFER_OK;
	default:
		TRY(infer_meta_elem_i64(f, m, i, &n, NULL));
		jw_int(w, key, n);
		return INFER_OK;
	}
}

/* Write all metadata. whole 0: lists are null, as vocabularies are long. */
static int put_model_info(struct jwrite *w, const infer_file *f, int whole)
{
	const struct infer_meta *m;
	struct arena mem;
	int rc = INFER_OK;

	arena_init(&mem, MEM_BASE);
	jw_object(w, "model_info");
	for (uint64_t k = 0; !rc && (m = infer_file_meta_at(f, k)); k++) {
		const int is_list = m->type == INFER_META_ARR;
		const char *key = arena_strndup(&mem, m->key.at, m->key.len);
		size_t cursor = 0;

		if (!key)
			break;
		if (is_list && !whole) {
			jw_null(w, key);
			continue;
		}
		if (is_list)
			jw_array(w, key);
		for (uint64_t i = 0; !rc && i < m->count; i++)
			rc = put_meta_element(w, is_list ? NULL : key, f, m, i, &cursor);
		if (is_list)
			jw_end(w);
	}
	jw_end(w);
	w->to->bad |= mem.bad;
	arena_fini(&mem);
	return rc;
}

/* ---- parameters, capabilities ---- */

/* Append the sampling defaults, one a line: a name and its value. */
static void append_parameters(struct buf *to, const struct served *m, const char *before)
{
	struct infer_sample_opts o = m->sampling.o;
	const struct infer_sample_param *p;

	infer_sample_resolve(&o);
	for (int i = 0; (p = infer_sample_param(i)); i++)
		buf_printf(to, "%s%s %.7g\n", before, p->name, infer_sample_get(&o, p));
}

/* True if the vocabulary has tokens for a text with a gap. */
static int has_gap_tokens(const infer_file *f)
{
	static const char *const keys[] = { "tokenizer.ggml.fim_pre_token_id",
		                            "tokenizer.ggml.prefix_token_id" };

	return infer_file_meta(f, keys[0]) || infer_file_meta(f, keys[1]);
}

static void put_capabilities(struct jwrite *w, const struct served *m)
{
	struct infer_chat_caps c = { 0 };
	struct infer_model_info info;

	infer_model_info(m->model, &info);
	if (m->chat.template)
		infer_chat_caps(m->chat.template, &c);
	jw_array(w, "capabilities");
	jw_str(w, NULL, info.is_encoder ? "embedding" : "completion");
	if (!info.is_encoder && c.tools)
		jw_str(w, NULL, "tools");
	if (!info.is_encoder && c.thinking)
		jw_str(w, NULL, "thinking");
	if (!info.is_encoder && has_gap_tokens(infer_model_file(m->model)))
		jw_str(w, NULL, "insert");
	jw_end(w);
}

static void put_license(struct jwrite *w, const infer_file *f)
{
	struct infer_str s;
	int found = 0;

	if (!infer_meta_str(f, "general.license", &s, &found, NULL) && found)
		jw_strn(w, "license", s.len ? s.at : "", s.len);
}

static void put_texts(struct jwrite *w, const struct served *m)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	buf_printf(&text, "FROM %s\n", m->name);
	append_parameters(&text, m, "PARAMETER ");
	jw_strn(w, "modelfile", text.len ? text.at : "", text.len);
	w->to->bad |= text.bad;
	buf_clear(&text);
	append_parameters(&text, m, "");
	jw_strn(w, "parameters", text.len ? text.at : "", text.len);
	w->to->bad |= text.bad;
	buf_clear(&text);
	if (m->chat.template)
		(void)chat_source(&text, &m->o.chat, infer_model_file(m->model),
		                  infer_model_tokenizer(m->model), NULL);
	jw_strn(w, "template", text.len ? text.at : "", text.len);
	w->to->bad |= text.bad;
	buf_fini(&text);
}

static void answer_show(struct http_request *r, int verbose)
{
	const struct served *m = r->api.model;
	const infer_file *f = infer_model_file(m->model);
	struct jwrite w;
	int rc;

	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	put_license(&w, f);
	put_texts(&w, m);
	ollama_details(&w, m->model, NULL);
	rc = put_model_info(&w, f, verbose);
	put_capabilities(&w, m);
	ollama_time(&w, "modified_at", ollama_modified(r->api.server, m));
	jw_end(&w);
	if (rc)
		api_refuse(&r->api, INFER_FAULT_SERVER, NULL, "the metadata cannot be read");
	else
		http_answer(r, 200, http_json);
}

void ep_ollama_show(struct http_request *r)
{
	const struct json *body, *verbose;
	const struct buf *text = &r->api.body;
	struct arena mem;
	infer_error err;

	arena_init(&mem, MEM_BASE);
	if (jread(&body, &mem, text->at ? text->at : "", text->len, "request", &err)) {
		api_refuse(&r->api, infer_fault_kind(err.code), NULL, "%s", err.message);
	} else {
		verbose = json_get(body, "verbose");
		if (!json_is_object(body))
			api_refuse(&r->api, INFER_FAULT_INVALID, NULL,
			           "the body must be a JSON object");
		else if (verbose && !json_is_null(verbose) && !json_is_bool(verbose))
			api_refuse(&r->api, INFER_FAULT_INVALID, "verbose",
			           "verbose must be true or false");
		else
			answer_show(r, json_is(verbose, JSON_TRUE));
	}
	arena_fini(&mem);
}
