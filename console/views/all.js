// The views by the first part of their address; those with a title are in the navigation, those with a key behind `g`.
// `lacks`: by store, the facts that a view cannot know while that store is away.
import { Overview } from "./overview.js";
import { Poison } from "./poison.js";
import { Groups, Jobs } from "./jobs.js";
import { Schedules } from "./schedules.js";
import { Limits } from "./limits.js";
import { Workers } from "./workers.js";
import { Indexes } from "./indexes.js";
import { Shards } from "./shards.js";
import { Tables } from "./tables.js";
import { Queues } from "./queues.js";
import { Blobs } from "./blobs.js";
import { Explain } from "./explain.js";
import { Audit } from "./audit.js";
import { Runbooks } from "./runbooks.js";
import { OwnKinds } from "./own_kinds.js";

export const views = [
  { name: "overview", title: "Overview", key: "o", of: Overview,
    lacks: { table: "workers, indexes, paused kinds and readers of changes", queue: "waiting jobs, poison and queues", blob: "the room on the disk of the blob store" } },
  { name: "poison", title: "Poison", key: "m", of: Poison, lacks: { queue: "the poison messages", table: "the jobs of the messages" } },
  { name: "jobs", title: "Jobs", key: "j", of: Jobs, lacks: { table: "the jobs", queue: "why jobs wait" } },
  { name: "groups", under: "jobs", of: Groups, lacks: { table: "the groups" } },
  { name: "schedules", title: "Schedules", key: "s", of: Schedules, lacks: { table: "the schedules" } },
  { name: "limits", title: "Limits and pauses", key: "l", of: Limits, lacks: { table: "limits and pauses" } },
  { name: "kinds", title: "Your kinds", key: "k", of: OwnKinds, lacks: { table: "your kinds", queue: "the jobs that wait" } },
  { name: "workers", title: "Workers", key: "w", of: Workers, lacks: { table: "the workers" } },
  { name: "shards", title: "Shards", key: "d", of: Shards, lacks: { table: "shards of the table store", queue: "shards of the queue service", blob: "shards of the blob store" } },
  { name: "indexes", title: "Indexes", key: "i", apart: true, of: Indexes, lacks: { table: "the indexes", blob: "lists in blobs" } },
  { name: "tables", title: "Tables", key: "t", of: Tables, lacks: { table: "tables and entities" } },
  { name: "queues", title: "Queues", key: "q", of: Queues, lacks: { queue: "queues and messages" } },
  { name: "containers", title: "Containers", key: "c", of: Blobs, lacks: { blob: "containers and blobs" } },
  { name: "explain", title: "Explain", key: "e", of: Explain, lacks: { table: "where the entity is", queue: "the jobs that wait for it" } },
  { name: "audit", title: "Audit", key: "a", apart: true, sessions: true, of: Audit, lacks: { table: "the audit trail" } },
  { name: "runbooks", title: "Runbooks", key: "b", of: Runbooks },
];
