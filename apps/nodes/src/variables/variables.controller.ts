import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import {
  Answers,
  listVariables,
  type ListVariablesRequest,
  type ListVariablesResponse,
  readVariable,
  type ReadVariableRequest,
  type ReadVariableResponse,
} from '@waybill/rpc';
import { MachineCredentialPipe } from '@waybill/service';
import { VariableQueries } from './variable-queries.js';

/** Answers reads of variables by agents, for the templates of their tasks. */
@Controller()
export class VariablesController {
  constructor(private readonly variables: VariableQueries) {}

  @Answers(readVariable)
  readVariable(@Payload(MachineCredentialPipe) request: ReadVariableRequest): Promise<ReadVariableResponse> {
    return this.variables.readVariable(request);
  }

  @Answers(listVariables)
  listVariables(@Payload(MachineCredentialPipe) request: ListVariablesRequest): Promise<ListVariablesResponse> {
    return this.variables.list(request);
  }
}
