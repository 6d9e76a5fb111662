/* infer/certificate.h - the quality loss of a quantised model, stored in its file.   floor: quant
 *
 * The results of an evaluation are metadata keys infer.quant.eval.*.  infer_quant_opts.note writes
 * infer.quant.type and other keys about how the file was made.  infer-quant(1) lists them. */
#ifndef INFER_CERTIFICATE_H
#define INFER_CERTIFICATE_H
#include <stdint.h>
#include <infer/engine.h>
#include <infer/eval.h>
#include <infer/file.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct infer_certificate {
	const struct infer_eval_text *eval;
	const char *sha256;         /* hash of the text's files, in hex */
	uint64_t text_bytes;        /* size of these files */
	const infer_engine *engine; /* the engine that ran the model */
	const infer_file *ref;      /* file of the reference model; NULL: none */
};
/* Check that a certificate can be written into a file.
 * INFER_EINVAL: the file was opened from bytes in memory.
 * INFER_EUNSUP: the file is not GGUF, or is compressed. */
int infer_certificate_check(const infer_file *f, infer_error *err);
/* Write the results into the file that f was opened from (of a split model, the first), replacing
 * those there.  A new file is written to the same directory and renamed when it is complete and
 * synced; f stays open on the old one.  The id of the model changes with its metadata; the same
 * results give the same bytes.
 * INFER_EINVAL, INFER_EUNSUP: as above.  INFER_EIO: also if the file was modified since it was
 * opened.  INFER_ENOMEM */
int infer_certificate_write(const infer_file *f, const struct infer_certificate *c,
                            infer_error *err);
/* True if a key describes how the file was made or its quality loss, not the model. */
int infer_certificate_is(struct infer_str key);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
