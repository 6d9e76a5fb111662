/* quant/certificate.h - (private) names of the metadata keys about how a file was made. */
#ifndef QUANT_CERTIFICATE_H
#define QUANT_CERTIFICATE_H
#include <infer/certificate.h>
#include "file/gguf_write.h"
#include "quant/plan.h"

#define CERTIFICATE "infer.quant."
#define CERTIFICATE_EVAL CERTIFICATE "eval."
/* Write the keys of the recipe: type, overrides, importance matrix, version.  INFER_ENOMEM */
int certificate_recipe(struct gguf_write *w, const infer_quant *q, infer_error *err);
#endif
