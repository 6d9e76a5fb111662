/* infer-serve/endpoints/ollama.h - parts of answers of Ollama's API. */
#ifndef INFER_SERVE_ENDPOINTS_OLLAMA_H
#define INFER_SERVE_ENDPOINTS_OLLAMA_H
#include "infer-serve/endpoints/table.h"
#include "infer-serve/http/request.h"

struct jwrite;

endpoint_fn ep_generate;

/* Write a time as RFC 3339. seconds: since 1970 */
void ollama_time(struct jwrite *w, const char *key, int64_t seconds);
/* Write a model's name with a tag: ":latest" is added to a name without one. */
void ollama_name(struct jwrite *w, const char *key, const char *name);
/* Write `details` of a model; NULL: it is not loaded, so that nothing is known. parent: the name of the
 * model, for an adapter of it; else NULL */
void ollama_details(struct jwrite *w, const infer_model *model, const char *parent);
/* Return when the file of m was changed, or, if it has no file, when the server started. */
int64_t ollama_modified(const struct server *s, const struct served *m);
#endif
