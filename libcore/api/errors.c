/* api/errors.c - faults in the formats of OpenAI and Anthropic */
#include "api/api.h"
#include "base/err.h"

static const struct {
	const char *type, *code, *anthropic;
} faults[] = {
#define FAULT(kind, status, type, code, anthropic) [INFER_FAULT_##kind] = { type, code, anthropic },
#include "job/fault_list.h"
#undef FAULT
};

void openai_put_error(struct jwrite *w, const struct infer_fault *f)
{
	int said = f->kind == INFER_FAULT_TOO_LONG && f->n_ctx;

	must(f->kind > 0 && f->kind < (int)(sizeof faults / sizeof *faults));
	jw_object(w, "error");
	jw_str(w, "message", f->error.message);
	/* clients of llama.cpp's server check `type`, others `code` */
	jw_str(w, "type", said ? "exceed_context_size_error" : faults[f->kind].type);
	jw_str(w, "param", f->param);
	jw_str(w, "code", faults[f->kind].code);
	if (said) {
		jw_int(w, "n_prompt_tokens", f->n_prompt);
		jw_int(w, "n_ctx", f->n_ctx);
	}
	jw_end(w);
}

const char *part_code(const struct infer_fault *f)
{
	return faults[f->kind].code ? faults[f->kind].code : faults[f->kind].type;
}

void part_anthropic_error(struct jwrite *w, const struct infer_fault *f)
{
	must(f->kind > 0 && f->kind < (int)(sizeof faults / sizeof *faults));
	jw_object(w, "error");
	jw_str(w, "type", faults[f->kind].anthropic);
	jw_str(w, "message", f->error.message);
	jw_end(w);
}

int infer_fault_put_anthropic(infer_writer *w, const struct infer_fault *f, const char *request_id,
                              infer_error *err)
{
	jw_init(&w->w, &w->text);
	jw_object(&w->w, NULL);
	jw_str(&w->w, "type", "error");
	part_anthropic_error(&w->w, f);
	jw_str(&w->w, "request_id", request_id);
	jw_end(&w->w);
	return w->text.bad ? err_nomem(err) : INFER_OK;
}
