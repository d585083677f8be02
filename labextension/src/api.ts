import { ServerConnection } from '@jupyterlab/services';
import type { DagDetail, DagSummary, InstanceDetail, LogChunk, Problem, RunDetail, RunSummary } from './wire';

/** The REST API, as the signed-in user. */
const settings = ServerConnection.makeSettings();

async function ask<T>(path: string, method = 'GET', body?: unknown): Promise<T> {
  let response: Response;
  try {
    response = await ServerConnection.makeRequest(
      `${settings.baseUrl}dagbook/api/${path}`,
      { method, body: body === undefined ? undefined : JSON.stringify(body) },
      settings
    );
  } catch (error) {
    throw new Error(`The Jupyter server does not answer (${(error as Error).message}).`);
  }
  if (response.ok) {
    return (await response.json()) as T;
  }
  const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
  throw new Error(problem.message ?? `The engine answered HTTP ${response.status}.`);
}

const part = encodeURIComponent;
const dagPath = (dag: string): string => `dags/${part(dag)}`;
const runPath = (dag: string, run: string): string => `${dagPath(dag)}/runs/${part(run)}`;

export const api = {
  dags: (search: string): Promise<DagSummary[]> => ask(`dags?search=${part(search)}`),
  dag: (dag: string): Promise<DagDetail> => ask(dagPath(dag)),
  pause: (dag: string, paused: boolean): Promise<DagSummary> => ask(dagPath(dag), 'PATCH', { is_paused: paused }),
  runs: (dag: string): Promise<RunSummary[]> => ask(`${dagPath(dag)}/runs?limit=25`),
  trigger: (dag: string): Promise<RunDetail> => ask(`${dagPath(dag)}/runs`, 'POST', {}),
  cancel: (dag: string, run: string): Promise<RunDetail> => ask(`${runPath(dag, run)}/cancel`, 'POST', {}),
  instances: (dag: string, run: string, task: string): Promise<InstanceDetail[]> =>
    ask(`${runPath(dag, run)}/tasks/${part(task)}?limit=200`),
  log: (dag: string, run: string, task: string, index: number): Promise<LogChunk> =>
    ask(`${runPath(dag, run)}/tasks/${part(task)}/logs?map_index=${index}&offset=-65536`)
};

export function eventsUrl(): string {
  const token = settings.token ? `?token=${part(settings.token)}` : '';
  return `${settings.wsUrl}dagbook/api/events${token}`;
}
