/* tests/embed/answer.c - the program of infer(3): load a model and stream an answer. */
#include <stdio.h>
#include <string.h>
#include <infer/engine.h>

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "demo",
		   *prompt = argc > 2 ? argv[2] : "Question: What is a token? Answer:";
	infer_model *model = NULL;
	infer_engine *engine = NULL;
	struct infer_request request;
	struct infer_event event;
	infer_error err;
	int32_t *ids = NULL;
	int rc;

	memset(&request, 0, sizeof request);
	request.max_tokens = 64;
	if ((rc = infer_model_open(&model, path, NULL, &err)) == INFER_OK &&
	    (rc = infer_encode(infer_model_tokenizer(model), prompt, strlen(prompt),
	                       INFER_ENCODE_ADD, &ids, &request.n_prompt, &err)) == INFER_OK &&
	    (rc = infer_engine_open(&engine, model, NULL, &err)) == INFER_OK) {
		request.prompt = ids;
		rc = infer_engine_submit(engine, &request, NULL, &err);
		while (rc == INFER_OK && infer_engine_busy(engine)) {
			rc = infer_engine_step(engine, &err);
			while (infer_engine_next(engine, &event))
				fwrite(event.text, 1, event.text_bytes, stdout);
		}
	}
	puts("");
	if (rc)
		fprintf(stderr, "%s\n", err.message);
	infer_engine_close(&engine);
	infer_ids_free(ids);
	infer_model_close(&model);
	return rc != INFER_OK;
}
