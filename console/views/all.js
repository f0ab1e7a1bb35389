// The views by the first part of their address; those with a title are in the navigation, those with a key behind `g`.
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

export const views = [
  { name: "overview", title: "Overview", key: "o", of: Overview },
  { name: "poison", title: "Poison", key: "m", of: Poison },
  { name: "jobs", title: "Jobs", key: "j", of: Jobs },
  { name: "groups", under: "jobs", of: Groups },
  { name: "schedules", title: "Schedules", key: "s", of: Schedules },
  { name: "limits", title: "Limits and pauses", key: "l", of: Limits },
  { name: "workers", title: "Workers", key: "w", of: Workers },
  { name: "shards", title: "Shards", key: "d", of: Shards },
  { name: "indexes", title: "Indexes", key: "i", apart: true, of: Indexes },
  { name: "tables", title: "Tables", key: "t", of: Tables },
  { name: "queues", title: "Queues", key: "q", of: Queues },
  { name: "containers", title: "Containers", key: "c", of: Blobs },
  { name: "explain", title: "Explain", key: "e", of: Explain },
  { name: "audit", title: "Audit", key: "a", apart: true, sessions: true, of: Audit },
];
