// Made by tools/wire_types.py from dagbook.wire.rest; do not edit.
export type TaskState = 'none' | 'scheduled' | 'queued' | 'running' | 'deferred' | 'up_for_reschedule' | 'up_for_retry' | 'restarting' | 'success' | 'failed' | 'skipped' | 'upstream_failed' | 'removed';
export type RunState = 'queued' | 'running' | 'success' | 'failed';
export type RunType = 'scheduled' | 'manual' | 'backfill' | 'dataset';

export interface Segment {
  start: number;
  end: number;
  origin: string;
  origin_line: number;
}

export interface DagSource {
  text: string;
  segments: Segment[];
  path: string | null;
}

export interface ParamSpec {
  name: string;
  default: unknown;
  description: string | null;
  schema: Record<string, unknown>;
}

export interface FaultBody {
  message: string;
  origin: string | null;
  line: number | null;
}

export interface Problem {
  code: string;
  message: string;
  faults: FaultBody[];
}

export interface ComponentHealth {
  kind: string;
  alive: boolean;
  age: number | null;
  host: string;
  pid: number;
}

export interface Status {
  version: string;
  database: string;
  components: ComponentHealth[];
}

export interface DeployRequest {
  dag_id: string;
  source: DagSource;
}

export interface PauseRequest {
  is_paused: boolean;
}

export interface TriggerRequest {
  logical_date: string | null;
  conf: Record<string, unknown>;
  run_id: string | null;
  version: string | null;
}

export interface BackfillRequest {
  start: string;
  end: string;
  max_active_runs: number;
  reprocess: string;
  run_backwards: boolean;
  conf: Record<string, unknown>;
}

export interface ClearRequest {
  run_id: string | null;
  start: string | null;
  end: string | null;
  tasks: string[];
  task_regex: string | null;
  upstream: boolean;
  downstream: boolean;
  only_failed: boolean;
  map_indexes: number[];
  original: boolean;
  dry_run: boolean;
}

export interface ClearedInstance {
  run_id: string;
  task_id: string;
  map_index: number;
  state: TaskState;
}

export interface ClearResult {
  count: number;
  runs: number;
  instances: ClearedInstance[];
  left_behind: string[];
  dry_run: boolean;
}

export interface TaskNode {
  task_id: string;
  operator: string;
  upstream: string[];
  mapped: boolean;
  trigger_rule: string;
  pool: string;
  retries: number;
  origin: string | null;
  line: number | null;
  doc_md: string | null;
}

export interface RunSummary {
  dag_id: string;
  run_id: string;
  state: RunState;
  run_type: RunType;
  logical_date: string;
  start_date: string | null;
  end_date: string | null;
  version: string;
  reason: string | null;
}

export interface DagSummary {
  dag_id: string;
  is_paused: boolean;
  is_draft: boolean;
  schedule: string | null;
  next_run: string | null;
  tags: string[];
  owner: string;
  description: string | null;
  version: string;
  recent_runs: RunSummary[];
}

export interface DagDetail {
  dag: DagSummary;
  tasks: TaskNode[];
  params: ParamSpec[];
  source: DagSource;
  next_run_reason: string;
  warnings: FaultBody[];
}

export interface VersionSummary {
  version: string;
  number: number;
  created_at: string;
}

export interface TaskProgress {
  task_id: string;
  state: TaskState;
  counts: Record<string, number>;
  expanded: number | null;
  start_date: string | null;
  end_date: string | null;
  try_number: number;
  reason: string | null;
}

export interface RunDetail {
  run: RunSummary;
  nodes: TaskNode[];
  tasks: TaskProgress[];
  now: string;
}

export interface InstanceDetail {
  task_id: string;
  map_index: number;
  label: string | null;
  state: TaskState;
  try_number: number;
  max_tries: number;
  start_date: string | null;
  end_date: string | null;
  hostname: string | null;
  pid: number | null;
  reason: string | null;
}

export interface LogChunk {
  text: string;
  next_offset: number;
  complete: boolean;
}

export interface XComValue {
  key: string;
  map_index: number;
  codec: string;
  value: unknown;
  data: string | null;
  size: number;
  preview: Record<string, unknown>;
}

export interface BackfillDetail {
  id: number;
  dag_id: string;
  start: string;
  end: string;
  max_active_runs: number;
  state: string;
  total: number;
  counts: Record<string, number>;
  runs: RunSummary[];
  reprocess: string;
  run_backwards: boolean;
}

export interface BackfillChange {
  state: 'paused' | 'running' | 'cancelled';
}

export interface PlannedInterval {
  start: string;
  end: string;
  action: string;
  reason: string;
}

export interface BackfillPreview {
  intervals: PlannedInterval[];
  counts: Record<string, number>;
  max_active_runs: number;
}

export interface DatasetDetail {
  uri: string;
  events: number;
  last_event: string | null;
  consumers: string[];
  pending: string[];
}

export interface DatasetEventRequest {
  uri: string;
  extra: Record<string, unknown>;
}

export interface DatasetEventDetail {
  id: number;
  uri: string;
  at: string;
  extra: Record<string, unknown>;
  alias: string | null;
  source_dag_id: string | null;
  source_run_id: string | null;
  source_task_id: string | null;
  source_map_index: number | null;
}

export interface ReasonBody {
  code: string;
  text: string;
  fix: string | null;
}

export interface Why {
  subject: string;
  state: string | null;
  reasons: ReasonBody[];
}

export interface ImportErrorDetail {
  path: string;
  message: string;
  line: number | null;
  at: string;
}

export interface Subscribe {
  type: 'subscribe';
  dag_id: string | null;
  run_id: string | null;
}

export interface RunEvent {
  type: 'run';
  detail: RunDetail;
  log_tail: string;
  log_task: string | null;
}

export interface DagsEvent {
  type: 'dags';
  dag_ids: string[];
}

export interface ProblemEvent {
  type: 'problem';
  code: string;
  message: string;
}

export type Event = RunEvent | DagsEvent | ProblemEvent;
