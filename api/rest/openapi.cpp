#include "api/rest/api_routes.h"

namespace tidemark::api {
namespace {

constexpr std::string_view kDocument = R"json({
  "openapi": "3.0.3",
  "info": {"title": "Tidemark", "version": "1", "description": "Jobs that keep data in different partitions, tables and blobs consistent, and the poison messages of those that failed."},
  "paths": {
    "/v1/jobs": {
      "post": {
        "summary": "Submit a job",
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/JobSpec"}}}},
        "responses": {
          "202": {"description": "Accepted", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Job"}}}},
          "200": {"description": "The idempotency key names this job, accepted before", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Job"}}}},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      },
      "get": {
        "summary": "List jobs, newest first",
        "parameters": [{"$ref": "#/components/parameters/limit"}, {"$ref": "#/components/parameters/continuation"}],
        "responses": {
          "200": {"description": "A page of jobs", "content": {"application/json": {"schema": {"type": "object", "required": ["jobs"], "properties": {"jobs": {"type": "array", "items": {"$ref": "#/components/schemas/Job"}}, "continuation": {"type": "string"}}}}}},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/v1/jobs/{id}": {
      "parameters": [{"$ref": "#/components/parameters/id"}],
      "get": {"summary": "Show a job", "responses": {"200": {"description": "The job", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Job"}}}}, "default": {"$ref": "#/components/responses/Problem"}}}
    },
    "/v1/jobs/{id}/cancel": {
      "parameters": [{"$ref": "#/components/parameters/id"}],
      "post": {"summary": "Cancel a job that has not ended", "responses": {"200": {"description": "The job as it is now", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Job"}}}}, "default": {"$ref": "#/components/responses/Problem"}}}
    },
    "/v1/poison": {
      "get": {
        "summary": "List poison messages",
        "parameters": [{"$ref": "#/components/parameters/limit"}, {"$ref": "#/components/parameters/continuation"}],
        "responses": {
          "200": {"description": "A page of poison messages", "content": {"application/json": {"schema": {"type": "object", "required": ["poison"], "properties": {"poison": {"type": "array", "items": {"$ref": "#/components/schemas/Poison"}}, "continuation": {"type": "string"}}}}}},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/v1/poison/{id}": {
      "parameters": [{"$ref": "#/components/parameters/id"}],
      "get": {"summary": "Show a poison message with its history", "responses": {"200": {"description": "The message", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Poison"}}}}, "default": {"$ref": "#/components/responses/Problem"}}},
      "delete": {"summary": "Forget a poison message", "responses": {"204": {"description": "Gone"}, "default": {"$ref": "#/components/responses/Problem"}}}
    },
    "/v1/poison/{id}/redrive": {
      "parameters": [{"$ref": "#/components/parameters/id"}],
      "post": {
        "summary": "Send a poison message back to its queue, with another specification if a body is given",
        "requestBody": {"required": false, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/JobSpec"}}}},
        "responses": {"202": {"description": "Sent back", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Poison"}}}}, "default": {"$ref": "#/components/responses/Problem"}}
      }
    },
    "/healthz": {"get": {"summary": "Alive", "responses": {"200": {"description": "ok"}}}},
    "/readyz": {"get": {"summary": "Serving: the stores answer", "responses": {"200": {"description": "ok"}, "default": {"$ref": "#/components/responses/Problem"}}}},
    "/metrics": {"get": {"summary": "Prometheus metrics", "responses": {"200": {"description": "Text exposition format"}}}},
    "/openapi.json": {"get": {"summary": "This description", "responses": {"200": {"description": "OpenAPI 3"}}}}
  },
  "components": {
    "parameters": {
      "id": {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
      "limit": {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}},
      "continuation": {"name": "continuation", "in": "query", "schema": {"type": "string"}}
    },
    "responses": {"Problem": {"description": "What went wrong and what to do", "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}},
    "schemas": {
      "JobSpec": {
        "type": "object", "required": ["kind", "source", "destination"], "additionalProperties": false,
        "properties": {
          "kind": {"type": "string", "enum": ["archive", "index"]},
          "source": {"type": "string"}, "destination": {"type": "string"},
          "partitionKey": {"type": "string"}, "rowKey": {"type": "string"},
          "filter": {"type": "string", "description": "OData filter; empty for every entity"},
          "property": {"type": "string"},
          "maxAttempts": {"type": "integer", "minimum": 1, "maximum": 100, "default": 5},
          "idempotencyKey": {"type": "string", "minLength": 1, "maxLength": 256}
        }
      },
      "Job": {
        "type": "object", "required": ["id", "kind", "state", "attempts", "progress", "submittedAt"],
        "properties": {
          "id": {"type": "string"}, "kind": {"type": "string"},
          "state": {"type": "string", "enum": ["queued", "running", "succeeded", "poisoned", "cancelled"]},
          "spec": {}, "attempts": {"type": "integer"},
          "progress": {"type": "object", "required": ["done", "skipped"], "properties": {"done": {"type": "integer"}, "skipped": {"type": "integer"}, "total": {"type": "integer"}, "phase": {"type": "string"}}},
          "messageId": {"type": "string"}, "submittedAt": {"type": "string", "format": "date-time"},
          "startedAt": {"type": "string", "format": "date-time"}, "finishedAt": {"type": "string", "format": "date-time"},
          "worker": {"type": "string"}, "error": {"type": "string"}
        }
      },
      "Poison": {
        "type": "object", "required": ["id", "jobId", "kind", "reason", "fingerprint", "attempts"],
        "properties": {
          "id": {"type": "string"}, "jobId": {"type": "string"}, "kind": {"type": "string"}, "reason": {"type": "string"},
          "fingerprint": {"type": "string"}, "queue": {"type": "string"}, "redrives": {"type": "integer"}, "body": {},
          "movedAt": {"type": "string", "format": "date-time"},
          "attempts": {"type": "array", "items": {"type": "object", "properties": {"number": {"type": "integer"}, "worker": {"type": "string"}, "startedAt": {"type": "string"}, "durationMs": {"type": "integer"}, "errorClass": {"type": "string"}, "code": {"type": "string"}, "message": {"type": "string"}}}}
        }
      },
      "Problem": {
        "type": "object", "required": ["type", "title", "status", "detail", "code", "requestId"],
        "properties": {"type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"}, "detail": {"type": "string"}, "code": {"type": "string"}, "requestId": {"type": "string"}, "problems": {"type": "array", "items": {"type": "string"}}}
      }
    }
  }
})json";

}  // namespace

const std::string& openapi_document() {
  static const std::string document(kDocument);
  return document;
}

}  // namespace tidemark::api
